import type { z } from 'zod'
import type { NewEvent } from '../../events/publish.ts'
import { type Bodies, bodiesOf } from '../../mail/inbound/packed-mail.ts'
import type { InboxEmailSummary, ReceivedEmail } from '../inbox/inbox-email.ts'
import type { FiledMail } from './filed-mail.ts'
import { isByPerson, writerOf } from './inbound-mail.ts'

/** What an event has of the words of a mail, in bytes: bodies together, and the plain text of them. */
const maxBodies = 64 * 1024
const maxText = 32 * 1024
const maxAttachments = 50

/** What is told of a mail that came in. Its words are in it only where somebody listens: they would be kept twice for nobody. */
export function mailEventsOf(filed: FiledMail, { isHeard }: { isHeard: boolean }): NewEvent[] {
  const { mailbox, original, mail } = filed
  const data = {
    email_id: filed.id,
    mailbox_id: mailbox.id,
    list_id: mailbox.list_id,
    post_id: null,
    subscriber_id: null,
    contact_id: filed.contact_id,
    from: writerOf(mail),
    to: filed.recipient,
    subject: mail.parsed.subject,
    message_id: mail.parsed.message_id,
    tag: null,
    metadata: {},
  }
  const { project_id } = mailbox
  const email = summaryOf(filed)
  const received: NewEvent = { project_id, type: 'email.received', data: { ...data, email: receivedOf(filed, isHeard) } }
  if (!original) return [received]
  // The ids of what was answered, beside those of the answer itself.
  const { list_id, post_id, subscriber_id, tag, metadata } = original
  return [received, { project_id, type: 'email.replied', data: { ...data, list_id, post_id, subscriber_id, tag, metadata, email } }]
}

const summaryOf = ({ id, mail, recipient, thread_id }: FiledMail): z.output<typeof InboxEmailSummary> => ({
  id,
  direction: 'inbound',
  from_address: writerOf(mail),
  from_name: mail.parsed.from?.name ?? null,
  to_address: recipient,
  subject: mail.parsed.subject,
  status: 'received',
  tags: null,
  thread_id: thread_id as z.output<typeof InboxEmailSummary>['thread_id'],
  attachment_count: mail.parsed.attachments.length,
  created_at: mail.message.received_at,
})

function receivedOf(filed: FiledMail, isHeard: boolean): z.output<typeof ReceivedEmail> {
  const { message, parsed, verdicts } = filed.mail
  const attachments = parsed.attachments.slice(0, maxAttachments)
  const { isCut, ...bodies } = isHeard ? cutBodies(bodiesOf(parsed, message.raw)) : { isCut: true }
  return {
    ...summaryOf(filed),
    message_id: parsed.message_id,
    in_reply_to: parsed.in_reply_to,
    reply_to: parsed.reply_to?.address ?? null,
    ...bodies,
    extracted_data: parsed.extracted_data as Record<string, unknown> | null,
    verdicts: verdicts as unknown as Record<string, unknown>,
    attachments,
    is_automatic: !isByPerson(filed.mail),
    // Who has only just begun to listen gets what was filed a moment ago without its bodies, and sees it by this.
    truncated: isCut || attachments.length < parsed.attachments.length,
  }
}

function cutBodies({ text_body, html_body }: Bodies) {
  const text = cut(text_body, maxText)
  const html = cut(html_body, maxBodies - Buffer.byteLength(text ?? ''))
  return { text_body: text, html_body: html, isCut: text !== text_body || html !== html_body }
}

/** No more than so many bytes, and no half of a letter. */
function cut(text: string | null, maxBytes: number): string | null {
  if (text === null || Buffer.byteLength(text) <= maxBytes) return text
  return Buffer.from(text)
    .subarray(0, maxBytes)
    .toString()
    .replace(/\uFFFD$/, '')
}
