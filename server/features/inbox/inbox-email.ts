import { z } from 'zod'
import { type ContactId, type EmailId, idOf, type MailboxId, type ProjectId, type ThreadId } from '../../base/ids.ts'
import type { ParsedAttachment } from '../../mail/inbound/parsed-mail.ts'
import { email, line, text, timestamp } from '../../operations/schemas.ts'
import { type EmailRow, EmailTag, isMessageId } from '../emails/email.ts'

/**
 * What a mailbox received and sent. Mail that came in is `received`, `read` once somebody said so, `replied` once an answer to it has
 * left, `archived` when it is put away; what is put away comes back by being marked as read. Mail that went out shows what became of it
 * (`sending` to `complained`), `replied` when somebody answered, or what was marked. Looking at a mail changes nothing.
 */
export const InboxStatus = z.enum([
  'received',
  'read',
  'replied',
  'archived',
  'failed',
  'sending',
  'sent',
  'delivered',
  'bounced',
  'complained',
])
export type InboxStatus = z.output<typeof InboxStatus>

export const Direction = z.enum(['inbound', 'outbound'])

export interface InboxSummaryRow {
  project_id: ProjectId
  id: EmailId
  mailbox_id: MailboxId
  direction: z.output<typeof Direction>
  from_address: string
  from_name: string | null
  to_address: string
  subject: string | null
  /** As it is shown, marks included. */
  status: InboxStatus
  tags: EmailTag[] | null
  thread_id: ThreadId | null
  attachment_count: number
  position: number | null
  created_at: Date
}

export interface InboxRow extends Omit<InboxSummaryRow, 'attachment_count'> {
  message_id: string | null
  in_reply_to: string | null
  reference_ids: string[]
  reply_to: string | null
  text_body: string | null
  html_body: string | null
  extracted_text: string | null
  extracted_data: Record<string, unknown> | null
  handler_results: Record<string, unknown> | null
  verdicts: Record<string, unknown> | null
  attachments: ParsedAttachment[]
  is_automatic: boolean
  contact_id: ContactId | null
  reason: string | null
  raw_key: string | null
}

const summary = {
  id: idOf('eml'),
  direction: Direction,
  from_address: z.string(),
  from_name: z.string().nullable(),
  to_address: z.string(),
  subject: z.string().nullable(),
  status: InboxStatus,
  tags: z.array(EmailTag).nullable(),
  thread_id: idOf('thr').nullable().meta({ description: 'The conversation that it belongs to' }),
  attachment_count: z.int(),
  created_at: timestamp,
}
export const InboxEmailSummary = z.object(summary).meta({ id: 'MailboxEmailSummary' })

const attachment = z
  .object({
    number: z.int().meta({ description: 'Its place in …/attachments/{number}, from 1' }),
    filename: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: 'Bytes' }),
    content_id: z.string().nullable(),
    is_inline: z.boolean(),
  })
  .meta({ id: 'EmailAttachment' })

const object = z.record(z.string(), z.unknown())

export const InboxEmailDetail = z
  .object({
    ...summary,
    message_id: z.string().nullable().meta({ description: 'Without angle brackets, as all Message-IDs here' }),
    in_reply_to: z.string().nullable(),
    references: z.array(z.string()).meta({ description: 'The Message-IDs that came before it, oldest first' }),
    reply_to: z.string().nullable(),
    text_body: z.string().nullable().meta({ description: 'Plain text; made from the HTML where the sender gave none' }),
    html_body: z.string().nullable().meta({ description: 'As it was sent, by anybody: to show it, use …/html' }),
    extracted_text: z.string().nullable().meta({ description: 'What is new in a reply, without what it quotes' }),
    extracted_data: object.nullable().meta({ description: 'The code or link of a sign-in or a confirmation: { kind, code, link }' }),
    handler_results: object.nullable().meta({ description: 'What was done with it beside keeping it' }),
    verdicts: object.nullable().meta({ description: 'How the sender proved who they are: SPF, DKIM, DMARC, ARC' }),
    attachments: z.array(attachment),
    is_automatic: z.boolean().meta({ description: 'Written by a program: a bounce, an out-of-office note, a newsletter' }),
    contact_id: idOf('con').nullable(),
    reason: z.string().nullable().meta({ description: 'Why it failed or bounced, in words' }),
  })
  .meta({ id: 'MailboxEmailDetail' })

/** What `email.received` tells of a mail: what there is to know without asking, within bounds. */
export const ReceivedEmail = z
  .object({
    ...summary,
    message_id: InboxEmailDetail.shape.message_id,
    in_reply_to: InboxEmailDetail.shape.in_reply_to,
    reply_to: InboxEmailDetail.shape.reply_to,
    text_body: z
      .string()
      .nullable()
      .optional()
      .meta({ description: 'Up to 32 kB. Left out, as is html_body, when nobody listened for email.received as it came' }),
    html_body: z.string().nullable().optional().meta({ description: 'As it was sent, by anybody. Both bodies together have up to 64 kB' }),
    extracted_data: InboxEmailDetail.shape.extracted_data,
    verdicts: InboxEmailDetail.shape.verdicts,
    attachments: z.array(attachment).meta({ description: 'Names and sizes of the first 50; …/attachments/{number} has what is in them' }),
    is_automatic: InboxEmailDetail.shape.is_automatic,
    truncated: z.boolean().meta({ description: 'Something did not fit: GET the e-mail for all of it' }),
  })
  .meta({ id: 'ReceivedEmail' })

/** What was sent a moment ago, as its row will be. */
export const rowOfSent = (email: EmailRow): InboxRow => ({
  ...email,
  direction: 'outbound',
  message_id: email.provider_message_id,
  position: null,
  extracted_text: null,
  extracted_data: null,
  handler_results: null,
  verdicts: null,
  attachments: [],
  is_automatic: false,
  raw_key: null,
})

export const toInboxDetail = (row: InboxRow): z.output<typeof InboxEmailDetail> => ({
  ...row,
  references: row.reference_ids,
  attachment_count: row.attachments.length,
  extracted_text: row.extracted_text ?? (isAllNew(row) ? (row.text_body?.trim() ?? null) : null),
})

/** What came in and quotes nothing is kept once; of what could not be read, the text is our own word about it. */
const isAllNew = ({ direction, handler_results }: InboxRow): boolean => direction === 'inbound' && !handler_results?.parse

export const InboxParams = z.object({ mailboxId: idOf('mbx') })
export const InboxEmailParams = z.object({ mailboxId: idOf('mbx'), emailId: idOf('eml') })

const maxTags = 50
const tags = z
  .array(z.unknown())
  .max(maxTags, `must have at most ${maxTags} items`)
  .pipe(z.array(EmailTag))
  .meta({ type: 'array', items: { $ref: '#/components/schemas/EmailTag' } })

const body = text(4 * 1024 * 1024)

export const NewInboxEmail = z.object({
  to_address: email,
  subject: line(998),
  text_body: body.min(1, 'must not be empty'),
  html_body: body.optional(),
  in_reply_to: z
    .string()
    .transform((given) => given.trim().replace(/^<(.*)>$/, '$1'))
    .refine(isMessageId, 'must be a Message-ID, such as the message_id of the e-mail that this answers')
    .optional()
    .meta({ description: 'The Message-ID of the e-mail that this answers: it joins that one’s thread' }),
  tags: tags.optional(),
})
export type NewInboxEmail = z.output<typeof NewInboxEmail>

/** What PATCH may make of a mail that came in. One that was answered has been read. */
export const markedAs = (status: InboxStatus, mark: 'read' | 'archived'): InboxStatus =>
  mark === 'read' && status === 'replied' ? 'replied' : mark
