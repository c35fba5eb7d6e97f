import { type ContactId, type EmailId, type MailboxId, newId, type ProjectId, type ThreadId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { ParsedAttachment } from '../../mail/inbound/parsed-mail.ts'

interface Pair {
  project_id: ProjectId
  mailbox_id: MailboxId
  outside: { address: string; key: string }
}

/** The same for all mail between the two: mail programs remember whom they have answered. */
export async function keepReplyAddress(tx: Transaction, { project_id, mailbox_id, outside }: Pair): Promise<string> {
  const [kept] = await tx.many<{ id: string }>`
    insert into proxy_addresses (project_id, mailbox_id, id, outside, outside_key, created_at)
    values (${project_id}, ${mailbox_id}, ${newId()}, ${outside.address}, ${outside.key}, ${tx.now})
    on conflict (project_id, mailbox_id, outside_key) do update set outside = excluded.outside
    returning id`
  return kept!.id // insert or update, one row comes back
}

/** What passing it on takes of the plan, for as long as it has not failed. */
export const bookFor = (tx: Transaction, { project_id, id }: { project_id: ProjectId; id: EmailId }, reservation_id: string) => tx.run`
  update emails set reservation_id = ${reservation_id} where project_id = ${project_id} and id = ${id}`

/** The mail that is answered, by one of its names. */
export const findAnswered = (db: Queryable, box: { project_id: ProjectId; mailbox_id: MailboxId; names: string[] }) => db.first<{
  id: EmailId
  thread_id: ThreadId | null
}>`
  select id, thread_id from emails
  where project_id = ${box.project_id} and mailbox_id = ${box.mailbox_id} and direction = 'inbound' and message_id = any(${box.names}::text[])
  order by id desc limit 1`

export const markAnswered = (tx: Transaction, { project_id, id }: { project_id: ProjectId; id: EmailId }) => tx.run`
  update emails set status = 'replied', updated_at = ${tx.now} where project_id = ${project_id} and id = ${id} and status in ('received', 'read')`

/** What an owner has sent from the mailbox, as the mailbox shows it. */
export interface PassedOn {
  project_id: ProjectId
  id: EmailId
  mailbox_id: MailboxId
  from_address: string
  from_name: string | null
  to_address: string
  to_key: string
  subject: string
  text_body: string | null
  html_body: string | null
  status: 'sent' | 'failed'
  reason: string | null
  message_id: string | null
  in_reply_to: string | null
  reference_ids: string[]
  thread_id: string
  reservation_id: string | null
  position: number | null
  contact_id: ContactId | null
  attachments: ParsedAttachment[]
  /** The owner's message as it came. */
  raw_key: string
  raw_size: number
}

export const insertPassedOn = (tx: Transaction, row: PassedOn) => tx.run`
  insert into emails (project_id, id, mailbox_id, direction, from_address, from_name, to_address, to_key, subject, text_body, html_body, status,
    reason, provider_message_id, message_id, in_reply_to, reference_ids, thread_id, reservation_id, position, contact_id, attachments, raw_key,
    raw_size, created_at, updated_at)
  values (${row.project_id}, ${row.id}, ${row.mailbox_id}, 'outbound', ${row.from_address}, ${row.from_name}, ${row.to_address}, ${row.to_key},
    ${row.subject}, ${row.text_body}, ${row.html_body}, ${row.status}, ${row.reason}, ${row.message_id}, ${row.message_id}, ${row.in_reply_to},
    ${row.reference_ids}, ${row.thread_id}, ${row.reservation_id}, ${row.position}, ${row.contact_id}, ${JSON.stringify(row.attachments)},
    ${row.raw_key}, ${row.raw_size}, ${tx.now}, ${tx.now})`
