import { html } from '../../base/html.ts'
import type { Transaction } from '../../database/database.ts'
import { enqueueMessage } from '../../delivery/enqueue.ts'
import type { Services } from '../../operations/context.ts'
import { findInstance } from './identity-queries.ts'

export interface Notice {
  /** What the ledger calls it: `sign_in_code`, `invite`. */
  kind: string
  to: string
  subject: string
  /** Paragraphs, in order. A `code` stands out, a `link` can be pressed. */
  parts: (string | { code: string } | { link: string; label: string })[]
}

/** A mail from the installation itself, to somebody with an account or asked to have one. Never repeats words that a stranger chose. */
export async function sendNotice({ config }: Pick<Services, 'config'>, tx: Transaction, notice: Notice): Promise<void> {
  const instance = await findInstance(tx)
  if (!instance) throw new Error('a notice before the first start')
  const has = (name: string) => notice.parts.some((part) => typeof part === 'object' && name in part)
  await enqueueMessage(tx, {
    project_id: instance.owner_project_id,
    kind: notice.kind,
    isSecret: has('code') || has('link'),
    mail: {
      from: { name: 'Posthaste', address: `posthaste@${config.MAIL_DOMAIN}` },
      to: notice.to,
      reply_to: null,
      subject: notice.subject,
      text: notice.parts.map(asText).join('\n\n'),
      html: html`${notice.parts.map(asHtml)}`.text,
      headers: { 'Auto-Submitted': 'auto-generated' },
    },
  })
}

const asText = (part: Notice['parts'][number]): string =>
  typeof part === 'string' ? part : 'code' in part ? part.code : `${part.label}:\n${part.link}`

const asHtml = (part: Notice['parts'][number]) => {
  if (typeof part === 'string') return html`<p>${part}</p>`
  if ('code' in part) return html`<p style="font:700 28px/1.4 ui-monospace,monospace;letter-spacing:.2em">${part.code}</p>`
  return html`<p><a href="${part.link}">${part.label}</a></p>`
}
