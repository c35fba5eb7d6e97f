import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { type Html, html } from '../base/html.ts'

/** One small sheet for every page of ours: system fonts, light and dark, readable on a phone. */
const styles = `:root{color-scheme:light dark;--ink:#1c1b22;--soft:#5b5966;--paper:#fbfaf8;--card:#fff;--line:#e4e1db;--accent:#2f5bd0;--on-accent:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#edebf2;--soft:#a9a6b5;--paper:#16151a;--card:#1f1e25;--line:#34323d;--accent:#8aa8ff;--on-accent:#10131f}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.6 system-ui,sans-serif}
main{max-width:36rem;margin:12vh auto 4rem;padding:2rem;background:var(--card);border:1px solid var(--line);border-radius:14px}
@media(max-width:40rem){main{margin:0;min-height:100vh;border:0;border-radius:0}}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}h2{font-size:1.1rem;margin:1.6rem 0 .2rem}p,form{margin:0 0 1rem}.soft{color:var(--soft);font-size:.92rem}a{color:var(--accent)}
label{display:block;font-weight:600;margin:0 0 .3rem}input[type=text],input[type=email],select{font:inherit;width:100%;padding:.6rem .8rem;margin:0 0 1rem;color:var(--ink);background:var(--paper);border:1px solid var(--line);border-radius:9px}
input[inputmode=numeric]{font:600 1.5rem/1.4 ui-monospace,monospace;letter-spacing:.3em;text-align:center}.wrong{padding:.7rem 1rem;border-left:4px solid #c0392b;background:var(--paper)}.done{padding:.7rem 1rem;border-left:4px solid #2e8b57;background:var(--paper)}
table{width:100%;border-collapse:collapse;margin:0 0 1rem}td,th{text-align:left;padding:.5rem .4rem;border-bottom:1px solid var(--line);vertical-align:middle;overflow-wrap:anywhere}td form{margin:0}.choice{font-weight:400;display:flex;gap:.6rem;align-items:baseline}.row{display:flex;gap:.8rem;flex-wrap:wrap}
button.quiet{padding:.35rem .8rem;font-size:.92rem;background:none;color:var(--accent);border:1px solid var(--line)}nav{margin:0 0 1.4rem;display:flex;gap:1rem;flex-wrap:wrap;font-size:.95rem}
button{font:inherit;font-weight:600;padding:.7rem 1.4rem;border:0;border-radius:9px;background:var(--accent);color:var(--on-accent);cursor:pointer}
button:focus-visible,a:focus-visible,input:focus-visible,select:focus-visible{outline:3px solid var(--accent);outline-offset:3px}code,pre{font:.88rem/1.5 ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;background:var(--paper);border:1px solid var(--line);border-radius:9px}ul{padding-left:1.2rem}`

const stylesHash = createHash('sha256').update(styles).digest('base64')

interface PageOptions {
  /** Where forms on this page may lead, beyond here. A browser holds redirects after a form to this, too. */
  formTargets?: string[]
}

/** A page that runs no script and loads nothing; what it links to learns nothing of where the reader came from. */
export function sendPage(
  reply: FastifyReply,
  status: number,
  title: string,
  content: Html,
  { formTargets = [] }: PageOptions = {},
): FastifyReply {
  const page =
    html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>${title}</title><style>`.text +
    styles +
    html`</style></head><body><main>${content}</main></body></html>`.text
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .headers({
      'content-security-policy': `default-src 'none'; style-src 'sha256-${stylesHash}'; form-action ${["'self'", ...formTargets].join(' ')}; base-uri 'none'; frame-ancestors 'none'`,
      // Not no-referrer: with that, a browser hides from our own forms that they come from our own page.
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
    })
    .send(page)
}
