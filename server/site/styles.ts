/** One small sheet for every page of ours: system fonts, light and dark, readable on a phone. */
export const styles = `
:root{color-scheme:light dark;--ink:#1c1b22;--soft:#5b5966;--paper:#fbfaf8;--card:#fff;--line:#e4e1db;--accent:#2f5bd0;--on-accent:#fff;--bad:#b3261e;--good:#2e7d4f}
@media(prefers-color-scheme:dark){:root{--ink:#edebf2;--soft:#a9a6b5;--paper:#16151a;--card:#1f1e25;--line:#34323d;--accent:#8aa8ff;--on-accent:#10131f;--bad:#f2b8b5;--good:#7fd1a0}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.6 system-ui,sans-serif}
main{max-width:36rem;margin:12vh auto 4rem;padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:14px}
main:has(>nav){max-width:46rem;margin-top:6vh}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1.15rem;margin:2.2rem 0 .6rem}
p,form{margin:0 0 1rem}
a{color:var(--accent)}
ul{padding-left:1.2rem}
code,pre{font:.88rem/1.5 ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;background:var(--paper);border:1px solid var(--line);border-radius:9px}
.soft{color:var(--soft);font-size:.92rem;overflow-wrap:anywhere}
.wrong,.done{padding:.7rem 1rem;margin:0 0 1rem;border-left:4px solid var(--bad);background:var(--paper)}
.done{border-color:var(--good)}
.wrong>:last-child,.done>:last-child{margin-bottom:0}
nav{margin:0 0 1.6rem;display:flex;gap:1.1rem;flex-wrap:wrap;font-size:.95rem}
nav [aria-current]{color:var(--ink);font-weight:600;text-decoration:none}
label{display:block;font-weight:600;margin:0 0 .3rem}
input[type=text],input[type=email],input[type=date],select{font:inherit;width:100%;padding:.6rem .8rem;margin:0 0 1rem;color:var(--ink);background:var(--paper);border:1px solid var(--line);border-radius:9px}
input[inputmode=numeric]{font:600 1.5rem/1.4 ui-monospace,monospace;letter-spacing:.3em;text-align:center}
fieldset{margin:0 0 1rem;padding:.6rem 1rem;border:1px solid var(--line);border-radius:9px}
legend{font-weight:600;padding:0 .4rem}
.choice{font-weight:400;display:flex;gap:.6rem;align-items:baseline}
.choice+.row{margin-top:.5rem}
.row{display:flex;gap:.8rem;flex-wrap:wrap;align-items:center}
.row label,.row select,td select{margin:0;width:auto}
button{font:inherit;font-weight:600;padding:.7rem 1.4rem;border:0;border-radius:9px;background:var(--accent);color:var(--on-accent);cursor:pointer;white-space:nowrap}
button.quiet{padding:.35rem .8rem;font-size:.92rem;background:none;color:var(--accent);border:1px solid var(--line)}
button.danger{background:none;color:var(--bad);border:1px solid var(--bad)}
button:focus-visible,a:focus-visible,input:focus-visible,select:focus-visible{outline:3px solid var(--accent);outline-offset:3px}
table{width:100%;border-collapse:collapse;margin:0 0 1rem}
th{font-size:.85rem;color:var(--soft);white-space:nowrap}
td,th{text-align:left;padding:.55rem .8rem .55rem 0;border-bottom:1px solid var(--line)}
td form{display:inline-flex;gap:.5rem;align-items:center;margin:.15rem .4rem .15rem 0}
@media(max-width:40rem){
main,main:has(>nav){margin:0;min-height:100vh;padding:2.5rem 1.4rem 1.4rem;border:0;border-radius:0}
thead{display:none}tr{display:block;padding:.6rem 0;border-bottom:1px solid var(--line)}td{display:block;padding:.15rem 0;border:0}
td[data-label]::before{content:attr(data-label) ': ';color:var(--soft);font-size:.92rem}
}`
