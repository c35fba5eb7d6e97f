import { html } from '../../base/html.ts'
import type { Transaction } from '../../database/database.ts'
import { countMessages, enqueueMessage } from '../../delivery/enqueue.ts'
import { type ListRow, senderOf } from '../lists/index.ts'

export interface ListMail {
  /** What the ledger calls it. */
  kind: string
  to: { address: string; key: string }
  subject: string
  opening: string
  link?: { url: string; label: string }
  closing: string
}

const maxPerProject = 3
const maxPerPerson = 10
const dayMs = 24 * 3_600_000

/** A mail that a form asked for, in the list's name. Who presses the button all day long sends a few. False when it is one too many. */
export async function sendListMail(tx: Transaction, list: ListRow, mail: ListMail): Promise<boolean> {
  const { project_id } = list
  const { kind, to, opening, link, closing } = mail
  const toPerson = { kind, recipient_key: to.key, since: new Date(tx.now.getTime() - dayMs) }
  if ((await countMessages(tx, { ...toPerson, project_id })) >= maxPerProject || (await countMessages(tx, toPerson)) >= maxPerPerson)
    return false
  await enqueueMessage(tx, {
    project_id,
    kind,
    list_id: list.id,
    isSecret: link !== undefined,
    mail: {
      ...senderOf(list),
      to: to.address,
      subject: mail.subject,
      text: [opening, link && `${link.label}:\n${link.url}`, closing, list.postal_address].filter(Boolean).join('\n\n'),
      html: html`<p>${opening}</p>${link ? html`<p><a href="${link.url}">${link.label}</a></p>` : null}<p>${closing}</p>${list.postal_address ? html`<p>${list.postal_address}</p>` : null}`
        .text,
      // RFC 3834: no vacation notice should answer this.
      headers: { 'Auto-Submitted': 'auto-generated' },
    },
  })
  return true
}
