import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { type Html, html } from '../base/html.ts'
import { styles } from './styles.ts'

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
