import type { EmailId, ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { startsOf } from '../../database/starts-of.ts'
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

/**
 * All in one statement. What was filed before stays as it is. The bodies of all are one value, out of which each row takes its own: in
 * JSON, PostgreSQL would look at each of their letters twice, which was a tenth of what it did.
 */
export async function insertFiled(tx: Transaction, filed: FiledMail[]): Promise<void> {
  const { rows, bodies } = rowsOf(filed)
  await tx.run`
    insert into emails (project_id, id, mailbox_id, direction, status, inbound_id, from_address, from_name, to_address, to_key, reply_to, subject,
      text_body, html_body, extracted_text, raw_text_at, raw_text_bytes, message_id, in_reply_to, reference_ids, thread_id, contact_id, extracted_data,
      handler_results, verdicts, attachments, raw_key, raw_size, is_automatic, is_reply, position, received_at, created_at, updated_at)
    select project_id, id, mailbox_id, 'inbound', 'received', inbound_id, from_address, from_name, to_address, to_key, reply_to, subject,
      convert_from(substring(bodies from text_at for text_bytes), 'UTF8'), convert_from(substring(bodies from html_at for html_bytes), 'UTF8'),
      convert_from(substring(bodies from news_at for news_bytes), 'UTF8'), raw_text_at, raw_text_bytes, message_id, in_reply_to, reference_ids, thread_id,
      contact_id, extracted_data, handler_results, verdicts, attachments, raw_key, raw_size, is_automatic, is_reply, position, received_at, received_at, ${tx.now}
    from json_to_recordset(${JSON.stringify(rows)}::json) as filed (project_id uuid, id uuid, mailbox_id uuid, inbound_id uuid,
      from_address text, from_name text, to_address text, to_key text, reply_to text, subject text, text_at integer, text_bytes integer,
      html_at integer, html_bytes integer, news_at integer, news_bytes integer, raw_text_at integer, raw_text_bytes integer, message_id text,
      in_reply_to text, reference_ids text[], thread_id uuid, contact_id uuid, extracted_data jsonb, handler_results jsonb, verdicts jsonb,
      attachments jsonb, raw_key text, raw_size integer, is_automatic boolean, is_reply boolean, position bigint, received_at timestamptz),
      (values (${bodies}::bytea)) as long (bodies)
    on conflict (project_id, inbound_id, mailbox_id) where inbound_id is not null do nothing`
}

/** Each with where its bodies are in all of them. */
function rowsOf(filed: FiledMail[]): { rows: object[]; bodies: Buffer } {
  const packed = filed.map(storedForm)
  const bytes = packed.map(bodyBytesOf)
  const starts = startsOf(bytes)
  const rows = filed.map((mail, index) => {
    const { body_bytes, text_in_raw } = packed[index] as PackedMail // one for each
    const { text_body, html_body, extracted_text } = body_bytes
    const at = starts[index] as number
    const bodies = {
      text_at: at,
      text_bytes: text_body,
      html_at: at + (text_body ?? 0),
      html_bytes: html_body,
      news_at: at + (text_body ?? 0) + (html_body ?? 0),
      news_bytes: extracted_text,
    }
    return { ...rowOf(mail), ...bodies, raw_text_at: text_in_raw?.at ?? null, raw_text_bytes: text_in_raw?.bytes ?? null }
  })
  return { rows, bodies: Buffer.concat(bytes) }
}

/** A text that is in the raw message is read there (`emailText`), but only where both are in the database. */
const storedForm = ({ mail: { message, parsed }, raw_key }: FiledMail): PackedMail =>
  isKept(raw_key) ? parsed : withText(parsed, message.raw)

function rowOf({ id, mail, mailbox, recipient, contact_id, thread_id, position, raw_key, original, results }: FiledMail) {
  const { message, parsed, verdicts } = mail
  const to = parseAddress(recipient)
  return {
    project_id: mailbox.project_id,
    id,
    mailbox_id: mailbox.id,
    inbound_id: message.id,
    from_address: writerOf(mail),
    from_name: parsed.from?.name ?? null,
    to_address: recipient,
    to_key: to.ok ? to.value.key : mailbox.address_key,
    reply_to: parsed.reply_to?.address ?? null,
    subject: parsed.subject,
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
  }
}

export const saveResults = (tx: Transaction, { project_id, id }: { project_id: ProjectId; id: EmailId }, results: HandlerResults) => tx.run`
  update emails set handler_results = coalesce(handler_results, '{}') || ${JSON.stringify(results)}::jsonb where project_id = ${project_id} and id = ${id}`
