import { accentOn, papers } from './colours.ts'

const theme = (name: keyof typeof papers, accentColor: string | null): string => {
  const { paper, card, ink, soft, line, edge } = papers[name]
  const { accent, onAccent } = accentOn(name, accentColor)
  return `--paper:${paper};--card:${card};--ink:${ink};--soft:${soft};--line:${line};--edge:${edge};--accent:${accent};--on-accent:${onAccent}`
}

/** The colours of one site, in both lights. */
export const colourSheet = (accentColor: string | null): string =>
  `:root{color-scheme:light dark;${theme('light', accentColor)}}@media(prefers-color-scheme:dark){:root{${theme('dark', accentColor)}}}`

const serif = 'ui-serif,"Iowan Old Style",Charter,"Bitstream Charter",Georgia,Cambria,serif'
const sans = 'system-ui,-apple-system,"Segoe UI",Roboto,sans-serif'
const mono = 'ui-monospace,"SF Mono",Menlo,Consolas,monospace'

const frame = `
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;min-height:100vh;min-height:100svh;display:flex;flex-direction:column;background:var(--paper);color:var(--ink);font:1.0625rem/1.6 ${sans};overflow-wrap:break-word;border-top:.25rem solid var(--accent)}
a{color:var(--accent);text-underline-offset:.18em;text-decoration-thickness:.06em}
a:hover{text-decoration-thickness:.12em}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:4px}
.skip{position:absolute;left:-999rem}
.skip:focus{left:1rem;top:1rem;padding:.6rem 1rem;background:var(--paper);z-index:1}
.hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.top,main,.foot{width:100%;max-width:43rem;margin:0 auto;padding:0 1.25rem}
.top{display:flex;align-items:center;justify-content:space-between;gap:.5rem 1.25rem;padding-top:1.125rem;padding-bottom:1.125rem}
.name{display:flex;align-items:center;gap:.7rem;min-width:0;min-height:2.75rem;color:var(--ink);font-weight:650;text-decoration:none;letter-spacing:-.01em;line-height:1.25}
.name span:not(.mark){display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
.name:hover span{text-decoration:underline}
.logo,.mark{width:2.25rem;height:2.25rem;border-radius:.55rem;flex:none}
.logo{object-fit:cover}
.mark{display:grid;place-items:center;background:var(--accent);color:var(--on-accent);font:700 1.2rem/1 ${serif}}
.mark::before{content:attr(data-letter)}
.top nav{display:flex;align-items:center;gap:1.25rem;flex:none;font-size:1rem}
.top nav a{color:var(--soft);text-decoration:none;padding:.6rem 0}
.top nav a:hover,.top nav [aria-current]{color:var(--ink);text-decoration:underline}
.top nav .button{min-height:2.5rem;padding:.4rem 1rem;font-size:.9375rem;color:var(--on-accent);text-decoration:none}
.foot{margin-top:auto;padding-top:clamp(3.5rem,10vw,6rem);padding-bottom:2.5rem;color:var(--soft);font-size:.9375rem}
.foot::before{content:"";display:block;border-top:1px solid var(--line);margin-bottom:1.5rem}
.foot p{margin:0 0 .6rem;white-space:pre-line}
.foot a{color:inherit}
.foot ul{list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin:0 0 1rem;padding:0}
.foot li a{display:inline-block;padding:.35rem 0}
h1,h2,h3,.title{font-family:${serif};font-weight:700;line-height:1.2;letter-spacing:-.015em;text-wrap:balance}
h1{font-size:clamp(2.125rem,1.5rem + 2.9vw,3.125rem);line-height:1.12;margin:0 0 1rem}
.soft{color:var(--soft)}
.fine{font-size:.875rem;line-height:1.55;color:var(--soft);margin:.85rem 0 0;text-wrap:pretty}
.fine strong{color:var(--ink);font-weight:650}
.eyebrow{margin:0 0 .75rem;color:var(--soft);font-size:.9375rem;font-variant-numeric:tabular-nums}`

const lists = `
.hero{padding:clamp(1.75rem,6vw,4rem) 0 clamp(2.25rem,6vw,3.75rem)}
.hero h1{margin-bottom:.85rem}
.hero>.inline{margin-top:1.4rem}
.home h1{font-size:clamp(2.5rem,1.7rem + 4vw,4rem)}
.lead{font-size:1.25rem;line-height:1.5;color:var(--soft);margin:0 0 1.75rem;max-width:34rem;white-space:pre-line;text-wrap:pretty}
.label{font-size:.8125rem;font-family:inherit;font-weight:650;letter-spacing:.07em;text-transform:uppercase;color:var(--soft);margin:0;padding:0 0 1rem}
.posts{list-style:none;margin:0;padding:0}
.posts li{position:relative;padding:1.6rem 0;border-top:1px solid var(--line)}
.posts .title{font-size:1.4375rem;margin:0 0 .35rem}
.posts .title a{color:var(--ink);text-decoration:none}
.posts .title a::after{content:"";position:absolute;inset:0}
.posts li:hover .title a{color:var(--accent);text-decoration:underline;text-decoration-thickness:.06em}
.posts p{margin:0;color:var(--soft);text-wrap:pretty}
.posts li>p:last-child{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;overflow:hidden}
.posts .eyebrow{margin:0 0 .4rem;font-size:.875rem}
.latest li:first-child{padding:1.9rem 0 2.1rem}
.latest li:first-child .title{font-size:clamp(1.75rem,1.5rem + 1.2vw,2.25rem);margin-bottom:.6rem}
.latest li:first-child p:last-child{font-size:1.1875rem}
.pages{display:flex;justify-content:space-between;gap:1rem;flex-wrap:wrap;border-top:1px solid var(--line);padding:1.25rem 0 0}
.pages a{padding:.4rem 0;font-weight:600}
.pages [rel=next]{margin-left:auto}
.none{margin:0;padding:clamp(2rem,8vw,3.5rem) 1.5rem;border:1px dashed var(--edge);border-radius:1rem;color:var(--soft);text-align:center;text-wrap:balance}`

const post = `
article{padding:clamp(1.25rem,4vw,2.75rem) 0 0}
article h1{margin-bottom:.9rem}
.subtitle{font-size:1.25rem;line-height:1.45;color:var(--soft);margin:0 0 1.5rem;text-wrap:pretty}
.words{margin-top:clamp(1.75rem,5vw,2.5rem);font:clamp(1.125rem,1.05rem + .35vw,1.25rem)/1.68 ${serif};overflow-x:auto;contain:content;padding:0 .05em}
.words>:first-child{margin-top:0}
.words>:last-child{margin-bottom:0}
.words *{max-width:100%}
.words p{text-wrap:pretty}
.words p,.words ul,.words ol,.words pre,.words blockquote,.words figure,.words dl,.words table{margin:0 0 1.35em}
.words h2,.words h3,.words h4,.words h5,.words h6{margin:1.9em 0 .55em;line-height:1.25}
.words h2{font-size:1.4em}.words h3{font-size:1.18em}.words h4,.words h5,.words h6{font-size:1.05em}
.words h2+h3,.words h3+h4{margin-top:.8em}
.words ul,.words ol{padding-left:1.35em}
.words li{margin:0 0 .4em;padding-left:.2em}
.words li::marker{color:var(--soft)}
.words img{height:auto;border-radius:.5rem;vertical-align:middle}
.words:not(.own)>img:not(.small){display:block;margin:0 0 1.35em}
.words img.boxed{width:100%;aspect-ratio:3/2;object-fit:scale-down;background:var(--card)}
.words img.small{aspect-ratio:1;object-fit:scale-down}
.words figcaption{font:.9375rem/1.5 ${sans};color:var(--soft);margin-top:.6em}
.words blockquote{padding:.1em 0 .1em 1.2em;border-left:3px solid var(--accent);font-style:italic}
.words blockquote>:last-child,.words li>p:last-child{margin-bottom:0}
.words hr{border:0;border-top:1px solid var(--edge);margin:2.5em auto;width:5em}
.words code,.words pre,.words kbd{font:.82em/1.6 ${mono}}
.words code{background:var(--card);padding:.15em .35em;border-radius:.3em}
.words pre{background:var(--card);padding:1.1em 1.3em;border-radius:.6em;overflow-x:auto}
.words pre code{background:none;padding:0;font-size:1em}
.words table{border-collapse:collapse;font:.85em/1.5 ${sans};font-variant-numeric:tabular-nums}
.words th,.words td{padding:.55em 1.5em .55em 0;vertical-align:top;text-align:left;border-bottom:1px solid var(--line)}
.words thead th{border-bottom-color:var(--edge)}
.words.own{background:#fff;color:#1d1b20;color-scheme:light;padding:clamp(1rem,4vw,2rem);border-radius:.75rem;border:1px solid var(--line)}
.own a{color:#2449ad}
.words.own p{margin:1em 0}
.words.own th,.words.own td{padding:revert;border:revert}
.words.own table{margin:0;font:inherit}
.like{margin:2.25rem 0 0}
.like button{gap:.35em;border-radius:2rem;min-height:2.75rem;padding:.5rem 1.2rem;font-size:1rem}
.like button span:first-child{color:var(--accent)}
.like button span+span{color:var(--soft);font-weight:400}
.around{display:grid;gap:.75rem;margin:1.5rem 0 0}
.around a{color:var(--ink);text-decoration:none;display:block;padding:1rem 1.25rem;border:1px solid var(--line);border-radius:.875rem;font-weight:600;line-height:1.35}
.around a:hover{border-color:var(--accent);color:var(--accent)}
.around span{display:block;font-size:.875rem;font-weight:400;color:var(--soft);margin-bottom:.2rem}
.after{margin:2.75rem 0 0}
.card{background:var(--card);border-radius:1rem;padding:clamp(1.35rem,5vw,2.1rem)}
.card .title{font-size:1.4375rem;margin:0 0 .35rem}
.card>p{margin:0 0 1.1rem;color:var(--soft)}
.card>.fine{margin:.85rem 0 0}
.card>:last-child{margin-bottom:0}`

const forms = `
label{display:block;font-weight:600;margin:0 0 .4rem}
input[type=text],input[type=email],input[type=search],select,textarea{font:inherit;width:100%;min-height:3rem;padding:.65rem .95rem;color:var(--ink);background:var(--paper);border:1px solid var(--edge);border-radius:.625rem}
input[aria-invalid]{border-width:2px;border-color:var(--accent)}
select{appearance:none;padding-right:2.6rem;background-image:linear-gradient(45deg,transparent 50%,var(--soft) 50%),linear-gradient(135deg,var(--soft) 50%,transparent 50%);background-position:calc(100% - 1.35rem) 55%,calc(100% - 1rem) 55%;background-size:.36rem .36rem;background-repeat:no-repeat}
textarea{font:.8125rem/1.6 ${mono};white-space:pre;overflow:auto;background:var(--card)}
input[readonly]{background:var(--card);text-overflow:ellipsis}
::placeholder{color:var(--soft);opacity:1}
button,.button{display:inline-flex;align-items:center;justify-content:center;font:inherit;font-weight:650;min-height:3rem;padding:.6rem 1.4rem;border:1px solid transparent;border-radius:.625rem;background:var(--accent);color:var(--on-accent);text-decoration:none;cursor:pointer;white-space:nowrap}
button:hover,.button:hover{filter:brightness(1.08)}
button.quiet,button.danger{background:none;color:var(--ink);border-color:var(--edge)}
button.quiet:hover{border-color:var(--accent);color:var(--accent);filter:none}
button.danger:hover{border-color:var(--ink);filter:none}
.inline{display:flex;gap:.7rem;flex-wrap:wrap;margin:0}
.inline>input,.inline>select{flex:1 1 11rem;width:auto;min-width:0}
.inline>button{flex:1 0 auto}
.wrong,.done{padding:.8rem 1.1rem;margin:0 0 1.25rem;border-left:4px solid var(--accent);background:var(--card);border-radius:.375rem .625rem .625rem .375rem}
fieldset{margin:0 0 1rem;padding:0;border:0;min-width:0}
legend{font:700 1.375rem/1.2 ${serif};padding:0;margin:0 0 .75rem}
.choice{font-weight:400;display:flex;gap:.75rem;align-items:center;padding:.6rem 0;margin:0;cursor:pointer}
.choice+.choice,.choice+input+.choice{border-top:1px solid var(--line)}
.choice input{accent-color:var(--accent);width:1.2rem;height:1.2rem;margin:0;flex:none}
.choice input:disabled+span{color:var(--soft)}
.narrow{max-width:35rem;padding:clamp(1.5rem,5vw,3.25rem) 0 0}
.narrow h1{font-size:clamp(2rem,1.6rem + 1.8vw,2.625rem)}
.narrow h2{font-size:1.375rem;margin:0 0 .75rem}
.narrow form{margin:0 0 1.25rem}
.narrow>p,.part>p{margin:0 0 1.25rem;text-wrap:pretty}
.narrow>.lead{margin-bottom:1.75rem}
.narrow>p.fine{margin:1.5rem 0 0}
.narrow p:has(+p.fine),.narrow form:has(+p.fine){margin-bottom:0}
.narrow .part{border-top:1px solid var(--line);margin:2.25rem 0 0;padding:2rem 0 0}
.part form,.part>:last-child{margin-bottom:0}
.part>p.fine{margin:.85rem 0 0}
.place{display:flex;align-items:baseline;gap:.75rem;flex-wrap:wrap}
.place strong{font:700 clamp(3.5rem,2.5rem + 5vw,5rem)/1 ${serif};color:var(--accent);letter-spacing:-.03em}`

const elsewhere = `
@media(min-width:40rem){.inline>button{flex:none}.around{grid-template-columns:1fr 1fr}.around .newer{text-align:right;grid-column:2}.archive li{display:grid;grid-template-columns:10.5rem 1fr;padding:1.35rem 0}.archive .eyebrow{margin:.3rem 0 0}.archive .title,.archive li>p:last-child{grid-column:2}.archive .eyebrow{grid-row:1}}
@media(max-width:30rem){.top nav a:not(:last-child){display:none}}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@media(forced-colors:active){.mark,button,.button{border:1px solid}}
@media print{.top nav,.after,.around,.like,.foot ul,.skip,form{display:none}body{display:block;border:0;background:#fff;color:#000;font-size:11pt}.top,main,.foot{max-width:none;padding:0}.words{font-size:11pt;contain:none;overflow:visible}.words a::after{content:" (" attr(href) ")";font-size:.8em;color:#444}.words a[href^="#"]::after{content:none}}`

/** One sheet for every page of a public site: written for a phone first, in the reader's own fonts. */
export const siteSheet = [frame, lists, post, forms, elsewhere].join('').replace(/\n/g, '')
