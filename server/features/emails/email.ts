import { z } from 'zod'
import { type ContactId, type EmailId, idOf, type MailboxId, type ProjectId, type ThreadId } from '../../base/ids.ts'
import { email, line, lineOrNone, text, timestamp } from '../../operations/schemas.ts'

/** What can stand between < and > in a header, and be folded. Strangers name their mail as they like. */
export const isMessageId = (text: string): boolean => /^[!-;=?-~]{1,900}$/.test(text)

const maxTagLength = 256
export const TagValue = lineOrNone(maxTagLength)
/** A name and a value to find a mail by. The name `channel` says where it came from. */
export const EmailTag = z.object({ name: line(maxTagLength), value: TagValue }).meta({ id: 'EmailTag' })
export type EmailTag = z.output<typeof EmailTag>

/** `sending` is seen only while the outgoing server is being asked, or after a crash in the middle of that. */
export const EmailStatus = z.enum(['sending', 'sent', 'delivered', 'bounced', 'failed', 'complained'])

export interface EmailRow {
  project_id: ProjectId
  id: EmailId
  mailbox_id: MailboxId
  from_address: string
  to_address: string
  to_key: string
  reply_to: string | null
  subject: string
  text_body: string | null
  html_body: string | null
  /** `replied`: it was delivered, and answered. */
  status: z.output<typeof EmailStatus> | 'replied'
  provider_message_id: string | null
  source_tag: string | null
  metadata: Record<string, string>
  reservation_id: string | null
  reason: string | null
  from_name: string | null
  in_reply_to: string | null
  reference_ids: string[]
  thread_id: ThreadId
  contact_id: ContactId | null
  tags: EmailTag[] | null
  created_at: Date
}

export const EmailRecord = z
  .object({
    id: idOf('eml'),
    status: EmailStatus,
    from: z.string(),
    to: z.string(),
    subject: z.string().nullable(),
    provider_message_id: z.string().nullable().meta({ description: 'The Message-ID that the mail went out with' }),
    tag: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    reason: z.string().nullable().meta({ description: 'Why it failed or bounced, in words' }),
    created_at: timestamp.nullable(),
  })
  .meta({ id: 'EmailRecord' })

export const toEmailRecord = (row: EmailRow): z.output<typeof EmailRecord> => ({
  ...row,
  status: row.status === 'replied' ? 'delivered' : row.status,
  from: row.from_address,
  to: row.to_address,
  tag: row.source_tag,
})

/** What every email.* event of a single mail carries: the mail as it is after what happened. */
export const emailEventData = (row: EmailRow) => ({
  email_id: row.id,
  mailbox_id: row.mailbox_id,
  list_id: null,
  post_id: null,
  subscriber_id: null,
  contact_id: row.contact_id,
  from: row.from_address,
  to: row.to_address,
  subject: row.subject,
  message_id: row.provider_message_id,
  tag: row.source_tag,
  metadata: row.metadata,
  email: toEmailRecord(row),
})

const maxFields = 10

const metadata = z
  .record(line(100), text(1_000))
  .refine((value) => Object.keys(value).length <= maxFields, `must have at most ${maxFields} fields`)
  .meta({ description: `Up to ${maxFields} fields of your own, echoed in events` })

const body = text(4 * 1024 * 1024).min(1, 'must not be empty')

export const NewEmail = z.object({
  to: email,
  subject: line(998),
  from: email.optional().meta({ description: 'The sending mailbox; left out, a mailbox’s own key sends from its mailbox' }),
  html: body.optional(),
  text: body.optional(),
  reply_to: email.optional(),
  tag: line(120).optional().meta({ description: 'Free text to find it by later' }),
  metadata: metadata.optional(),
})
export type NewEmail = z.output<typeof NewEmail>
