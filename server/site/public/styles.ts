import { accentOn, papers } from './colours.ts'

const theme = (name: keyof typeof papers, accentColor: string | null): string => {
  const { paper, card, ink, soft, line } = papers[name]
  const { accent, onAccent } = accentOn(name, accentColor)
  return `--paper:${paper};--card:${card};--ink:${ink};--soft:${soft};--line:${line};--accent:${accent};--on-accent:${onAccent}`
}

/** The colours of one site, in both lights. */
export const colourSheet = (accentColor: string | null): string =>
  `:root{color-scheme:light dark;${theme('light', accentColor)}}@media(prefers-color-scheme:dark){:root{${theme('dark', accentColor)}}}`

/** One sheet for every page of a public site: written for a phone first, in the reader's own fonts. */
export const siteSheet = `
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);font:1.0625rem/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:break-word}
a{color:var(--accent);text-underline-offset:.15em;text-decoration-thickness:.06em}
a:hover{text-decoration-thickness:.12em}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:4px}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:1rem;padding:.6rem 1rem;background:var(--paper);z-index:1}
.top,main,.foot{width:100%;max-width:44rem;margin:0 auto;padding:0 1.25rem}
.top{display:flex;align-items:center;justify-content:space-between;gap:.5rem 1.5rem;flex-wrap:wrap;padding-top:1.25rem;padding-bottom:1.25rem}
.name{display:flex;align-items:center;gap:.65rem;color:var(--ink);font-weight:650;text-decoration:none;letter-spacing:-.01em;min-height:2.75rem}
.logo{width:2.25rem;height:2.25rem;border-radius:.5rem;object-fit:cover;flex:none}
.top nav{display:flex;gap:1.25rem}
.top nav a{color:var(--soft);text-decoration:none;padding:.6rem 0}
.top nav a:hover,.top nav [aria-current]{color:var(--ink);text-decoration:underline}
h1,h2,h3,.title{font-family:ui-serif,"Iowan Old Style",Charter,Georgia,Cambria,serif;font-weight:650;line-height:1.2;letter-spacing:-.015em;text-wrap:balance}
h1{font-size:clamp(2rem,1.45rem + 2.6vw,3rem);margin:0 0 1rem}
.soft{color:var(--soft)}
.eyebrow{margin:0 0 .75rem;color:var(--soft);font-size:.9375rem}
.hero{padding:clamp(2rem,7vw,4.5rem) 0 clamp(2rem,6vw,3.5rem)}
.hero .logo{width:4.5rem;height:4.5rem;border-radius:1rem;display:block;margin:0 0 1.5rem}
.lead{font-size:1.1875rem;line-height:1.55;color:var(--soft);margin:0 0 1.75rem;max-width:36rem;white-space:pre-line}
.label{font-size:.8125rem;font-family:inherit;font-weight:650;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:0}
.posts{list-style:none;margin:0;padding:0}
.posts li{padding:1.75rem 0;border-top:1px solid var(--line)}
.posts .title{font-size:1.4375rem;margin:0 0 .4rem}
.posts .title a{color:var(--ink);text-decoration:none}
.posts .title a:hover{color:var(--accent);text-decoration:underline}
.posts p{margin:0;color:var(--soft);text-wrap:pretty}
.posts .eyebrow{margin:0 0 .35rem;font-size:.875rem}
.section{display:flex;justify-content:space-between;align-items:baseline;gap:1rem;margin:0 0 1.25rem}
.pages{display:flex;justify-content:space-between;gap:1rem;flex-wrap:wrap;border-top:1px solid var(--line);padding:1.5rem 0 0}
.pages a{padding:.4rem 0}
article{padding:clamp(1.5rem,5vw,3rem) 0 0}
.subtitle,.lead,.words p{text-wrap:pretty}
.subtitle{font-size:1.25rem;line-height:1.5;color:var(--soft);margin:0 0 2rem}
.words{font:1.1875rem/1.7 ui-serif,"Iowan Old Style",Charter,Georgia,Cambria,serif;overflow-x:auto;contain:content;padding:0 .05em}
.words>:first-child{margin-top:0}
.words>:last-child{margin-bottom:0}
.words *{max-width:100%}
.words p,.words ul,.words ol,.words pre,.words blockquote,.words figure,.words dl,.words table{margin:0 0 1.4em}
.words h2,.words h3,.words h4,.words h5,.words h6{margin:2em 0 .6em;line-height:1.25}
.words h2{font-size:1.4em}.words h3{font-size:1.2em}.words h4,.words h5,.words h6{font-size:1.05em}
.words li{margin:0 0 .4em}
.words img{height:auto;border-radius:.375rem;vertical-align:middle}
.words img.boxed{width:100%;aspect-ratio:3/2;object-fit:scale-down;background:var(--card)}
.words img.small{aspect-ratio:1;object-fit:scale-down}
.words figcaption{font:.9375rem/1.5 system-ui,sans-serif;color:var(--soft);margin-top:.5em}
.words blockquote{padding:.1em 0 .1em 1.2em;border-left:3px solid var(--accent);font-style:italic}
.words blockquote>:last-child,.words li>p:last-child{margin-bottom:0}
.words hr{border:0;border-top:1px solid var(--line);margin:2.5em auto;width:6em}
.words code,.words pre,.words kbd{font:.85em/1.6 ui-monospace,"SF Mono",Menlo,Consolas,monospace}
.words code{background:var(--card);padding:.15em .35em;border-radius:.3em}
.words pre{background:var(--card);padding:1em 1.2em;border-radius:.5em;overflow-x:auto}
.words pre code{background:none;padding:0}
.words table{border-collapse:collapse}
.words th,.words td{padding:.4em .8em .4em 0;vertical-align:top;text-align:left}
.words thead th{border-bottom:1px solid var(--line)}
.words.own{background:#fff;color:#1d1b20;color-scheme:light;padding:clamp(1rem,4vw,2rem);border-radius:.75rem;border:1px solid var(--line)}
.own a{color:#2449ad}
.words.own th,.words.own td{padding:revert}
.words.own table{margin:0}
.around{display:grid;gap:1rem;border-top:1px solid var(--line);margin:3rem 0 0;padding:1.5rem 0 0}
.around a{color:var(--ink);text-decoration:none;display:block;padding:.4rem 0}
.around a:hover{color:var(--accent);text-decoration:underline}
.around span{display:block;font-size:.875rem;color:var(--soft)}
.after{margin:3rem 0 0}
.card{background:var(--card);border-radius:1rem;padding:clamp(1.25rem,5vw,2rem)}
.card .title{font-size:1.375rem;margin:0 0 .4rem}
.card>p{margin:0 0 1.1rem;color:var(--soft)}
.card>.fine{margin:.75rem 0 0}
.card>:last-child{margin-bottom:0}
label{display:block;font-weight:600;margin:0 0 .35rem}
input[type=text],input[type=email],input[type=search],select,textarea{font:inherit;width:100%;min-height:3rem;padding:.65rem .9rem;color:var(--ink);background:var(--paper);border:1px solid var(--soft);border-radius:.625rem}
::placeholder{color:var(--soft);opacity:1}
button,.button{display:inline-block;font:inherit;font-weight:650;min-height:3rem;padding:.65rem 1.4rem;border:1px solid transparent;border-radius:.625rem;background:var(--accent);color:var(--on-accent);text-decoration:none;cursor:pointer;white-space:nowrap}
button:hover,.button:hover{filter:brightness(1.08)}
button.quiet{background:none;color:var(--accent);border-color:var(--line)}
button.danger{background:none;color:var(--ink);border-color:var(--soft)}
.inline{display:flex;gap:.75rem;flex-wrap:wrap;margin:0}
.inline>input,.inline>label{flex:1 1 11rem;width:auto}
.inline>button{flex:1 0 auto}
.like{margin:2.5rem 0 0}
.fine{font-size:.875rem;color:var(--soft);margin:.75rem 0 0}
.wrong,.done{padding:.7rem 1rem;margin:0 0 1rem;border-left:4px solid var(--accent);background:var(--card);border-radius:.375rem}
.narrow{max-width:34rem;margin:0 auto;padding:clamp(2rem,8vw,4.5rem) 0}
.narrow h1{font-size:clamp(1.75rem,1.4rem + 1.6vw,2.375rem)}
.narrow h2{font-size:1.375rem;margin:2.5rem 0 .75rem}
.narrow form{margin:0 0 1.25rem}
fieldset{margin:0 0 1rem;padding:.75rem 1.1rem 1rem;border:1px solid var(--line);border-radius:.625rem}
legend{font-weight:600;padding:0 .4rem}
.choice input{accent-color:var(--accent)}
.choice{font-weight:400;display:flex;gap:.7rem;align-items:baseline;padding:.3rem 0;margin:0}
textarea{font:.875rem/1.5 ui-monospace,"SF Mono",Menlo,Consolas,monospace;white-space:pre;overflow:auto}
.like{margin:2.5rem 0 0}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.foot{margin-top:clamp(3rem,9vw,5.5rem);padding-bottom:3rem;color:var(--soft);font-size:.9375rem}
.foot::before{content:"";display:block;border-top:1px solid var(--line);margin-bottom:1.75rem}
.foot p{margin:0 0 .6rem;white-space:pre-line}
.foot a{color:inherit}
.foot ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0 0 1rem;padding:0}
.foot li a{display:inline-block;padding:.35rem 0}
@media(min-width:40rem){.inline>button{flex:none}.around{grid-template-columns:1fr 1fr}.around .newer{text-align:right;grid-column:2}}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media print{.top nav,.after,.around,.like,.foot ul,.skip,form{display:none}body{background:#fff;color:#000;font-size:11pt}.top,main,.foot{max-width:none;padding:0}.words{font-size:11pt;contain:none;overflow:visible}.words a::after{content:" (" attr(href) ")";font-size:.8em;color:#444}.words a[href^="#"]::after{content:none}}
`.replace(/\n/g, '')
