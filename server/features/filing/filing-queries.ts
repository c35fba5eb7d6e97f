import type { EmailId, ProjectId } from '../../base/ids.ts'
import { copyTarget } from '../../database/copy-rows.ts'
import type { Transaction } from '../../database/database.ts'
import { parseAddress } from '../../mail/address.ts'
import { bodyBytesOf, type PackedMail, withText } from '../../mail/inbound/packed-mail.ts'
import { isKept, type Kept, keepInPlace } from '../raw-mail/index.ts'
import type { FiledMail, HandlerResults } from './filed-mail.ts'
import { isByPerson, writerOf } from './inbound-mail.ts'

/** Those that are still there, which nobody else files any more: whoever was at the same ones waits here, and then finds none. */
export async function takeFromSpool(tx: Transaction, { ids, kept }: { ids: string[]; kept: Map<string, Kept> }): Promise<Set<string>> {
  const leaving = ids.filter((id) => !kept.has(id))
  const rows = [
    ...(kept.size > 0 ? await keepInPlace(tx, [...kept.values()]) : []),
    ...(leaving.length > 0 ? await removeFromSpool(tx, leaving) : []),
  ]
  return new Set(rows.map(({ id }) => id))
}

const removeFromSpool = (tx: Transaction, ids: string[]) => tx.many<{ id: string }>`
  delete from inbound_spool where id = any(${ids}::uuid[]) returning id`

/** All at once. None of them was there before: they were in the spool until now (`takeFromSpool`). */
export const insertFiled = (tx: Transaction, filed: FiledMail[]) =>
  tx.copy(
    filedEmails,
    filed.map((mail) => rowOf(mail, tx.now)),
  )

const filedEmails = copyTarget('emails', {
  project_id: 'uuid',
  id: 'uuid',
  mailbox_id: 'uuid',
  direction: 'text',
  status: 'text',
  inbound_id: 'uuid',
  from_address: 'text',
  from_name: 'text',
  to_address: 'text',
  to_key: 'text',
  reply_to: 'text',
  subject: 'text',
  text_body: 'text',
  html_body: 'text',
  extracted_text: 'text',
  raw_text_at: 'integer',
  raw_text_bytes: 'integer',
  message_id: 'text',
  in_reply_to: 'text',
  reference_ids: 'text[]',
  thread_id: 'uuid',
  contact_id: 'uuid',
  extracted_data: 'jsonb',
  handler_results: 'jsonb',
  verdicts: 'jsonb',
  attachments: 'jsonb',
  raw_key: 'text',
  raw_size: 'integer',
  is_automatic: 'boolean',
  is_reply: 'boolean',
  position: 'bigint',
  received_at: 'timestamptz',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
})

/** A text that is in the raw message is read there (`emailText`), but only where both are in the database. */
const storedForm = ({ mail: { message, parsed }, raw_key }: FiledMail): PackedMail =>
  isKept(raw_key) ? parsed : withText(parsed, message.raw)

function rowOf(filed: FiledMail, now: Date) {
  const { id, mail, mailbox, recipient, contact_id, thread_id, position, raw_key, original, results } = filed
  const { message, parsed, verdicts } = mail
  const stored = storedForm(filed)
  const to = parseAddress(recipient)
  return {
    project_id: mailbox.project_id,
    id,
    mailbox_id: mailbox.id,
    direction: 'inbound',
    status: 'received',
    inbound_id: message.id,
    from_address: writerOf(mail),
    from_name: parsed.from?.name ?? null,
    to_address: recipient,
    to_key: to.ok ? to.value.key : mailbox.address_key,
    reply_to: parsed.reply_to?.address ?? null,
    subject: parsed.subject,
    ...bodyBytesOf(stored),
    raw_text_at: stored.text_in_raw?.at ?? null,
    raw_text_bytes: stored.text_in_raw?.bytes ?? null,
    message_id: parsed.message_id,
    in_reply_to: parsed.in_reply_to,
    reference_ids: parsed.references,
    thread_id,
    contact_id,
    extracted_data: parsed.extracted_data,
    handler_results: Object.keys(results).length > 0 ? results : null,
    verdicts,
    attachments: parsed.attachments,
    raw_key,
    raw_size: message.raw.length,
    is_automatic: !isByPerson(mail),
    is_reply: original !== null,
    position,
    received_at: message.received_at,
    created_at: message.received_at,
    updated_at: now,
  }
}

export const saveResults = (tx: Transaction, { project_id, id }: { project_id: ProjectId; id: EmailId }, results: HandlerResults) => tx.run`
  update emails set handler_results = coalesce(handler_results, '{}') || ${JSON.stringify(results)}::jsonb where project_id = ${project_id} and id = ${id}`
