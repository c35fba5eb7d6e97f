import { z } from 'zod'
import { isDeliveryTokenForm } from '../../base/delivery-token.ts'
import { isComplaintType } from './feedback-report.ts'
import { oneLine } from './one-line.ts'
import type { BounceClass, BouncedRecipient, BounceReport, Complaint, OriginalMessage, Report } from './report.ts'

/**
 * Where our token travels in a message that leaves through Amazon SES. The tag comes back in what a configuration set publishes, the
 * header field in the notifications of an identity that are told to include the original headers.
 */
export const sesTokenTag = 'posthaste-token'
export const sesTokenHeader = 'X-Posthaste-Token'

/** What came back, and the token of the message it is about. */
export interface SesNotification {
  token: string
  report: Report
}

const text = z.string().nullish().catch(null)
const recipient = z.object({ emailAddress: text, action: text, status: text, diagnosticCode: text })
const Notification = z.object({
  /** `notificationType` when an identity tells, `eventType` when a configuration set publishes. */
  notificationType: text,
  eventType: text,
  mail: z.object({
    messageId: text,
    destination: z.array(z.string()).nullish().catch(null),
    headers: z
      .array(z.object({ name: z.string(), value: z.string() }))
      .nullish()
      .catch(null),
    tags: z.record(z.string(), z.array(z.string())).nullish().catch(null),
  }),
  bounce: z.object({ bounceType: text, bounceSubType: text, bouncedRecipients: z.array(recipient) }).nullish(),
  complaint: z
    .object({
      complaintFeedbackType: text,
      userAgent: text,
      complainedRecipients: z.array(z.object({ emailAddress: text })),
    })
    .nullish(),
  reject: z.object({ reason: text }).nullish(),
})
type Notification = z.infer<typeof Notification>

/** Null for what says nothing about a message of ours, or nothing that matters: deliveries, delays, opens, the greeting of a new topic. */
export function readSesNotification(message: string): SesNotification | null {
  const parsed = Notification.safeParse(jsonIn(message))
  if (!parsed.success) return null
  const token = tokenOf(parsed.data)
  const report = reportOf(parsed.data)
  return token && report ? { token, report } : null
}

/** SES greets a new topic with a sentence that is no JSON. */
function jsonIn(message: string): unknown {
  try {
    return JSON.parse(message)
  } catch {
    return null
  }
}

function tokenOf({ mail }: Notification): string | null {
  const named = mail.headers?.filter(({ name }) => name.toLowerCase() === sesTokenHeader.toLowerCase()).map(({ value }) => value) ?? []
  const token = [...(mail.tags?.[sesTokenTag] ?? []), ...named].map((value) => value.trim()).find(isDeliveryTokenForm)
  return token?.toLowerCase() ?? null
}

function reportOf(notification: Notification): Report | null {
  const original = originalOf(notification)
  switch (notification.eventType ?? notification.notificationType) {
    case 'Bounce':
      return notification.bounce ? bounceOf(notification.bounce, original) : null
    case 'Complaint':
      return notification.complaint ? complaintOf(notification.complaint, original) : null
    // Taken over, and then found to hold a virus: nobody got it.
    case 'Reject':
      return rejectionOf(notification, original)
    default:
      return null
  }
}

/** Not of the address but of the message: it was too large, or a filter did not like it. */
const aboutTheMessage = /^(?:MessageTooLarge|ContentRejected|AttachmentRejected)$/

/** Amazon's own words, and what they mean to somebody who looks at one recipient. */
const reasons: Record<string, string> = {
  'Permanent General': 'The receiving server refused the address for good',
  'Permanent NoEmail': 'The address is not valid',
  'Permanent Suppressed': 'The address is on the suppression list of Amazon SES',
  'Permanent OnAccountSuppressionList': 'The address is on the suppression list of the Amazon SES account',
  'Transient MailboxFull': 'The mailbox is full',
  'Transient MessageTooLarge': 'The message is too large for the mailbox',
  'Transient ContentRejected': 'The receiving server refused the content of the message',
  'Transient AttachmentRejected': 'The receiving server refused an attachment of the message',
}

function bounceOf({ bounceType, bounceSubType, bouncedRecipients }: NonNullable<Notification['bounce']>, original: OriginalMessage) {
  const kind = classOf(bounceType ?? '', bounceSubType ?? '')
  const reason = reasons[`${bounceType} ${bounceSubType}`] ?? 'The receiving side could not take the message'
  const recipients = bouncedRecipients.map(
    ({ emailAddress, status, diagnosticCode }): BouncedRecipient => ({
      address: emailAddress ?? null,
      action: 'failed',
      status: /^[245]\.\d{1,3}\.\d{1,3}$/.test(status ?? '') ? (status as string) : null,
      diagnostic: diagnosticCode ? oneLine(diagnosticCode) : null,
      class: kind,
      reason,
    }),
  )
  return { kind: 'bounce', recipients, original } satisfies BounceReport
}

/** What SES has not made up its mind about (`Undetermined`) is held against nobody at once. */
const classOf = (type: string, subtype: string): BounceClass =>
  type === 'Permanent' ? 'hard' : aboutTheMessage.test(subtype) ? 'policy' : 'soft'

function complaintOf(
  { complaintFeedbackType, userAgent, complainedRecipients }: NonNullable<Notification['complaint']>,
  original: OriginalMessage,
) {
  // Many providers do not say which kind it is.
  const feedback_type = /^[\w-]{1,40}/.exec(complaintFeedbackType?.toLowerCase() ?? '')?.[0] ?? 'abuse'
  if (!isComplaintType(feedback_type)) return null
  const address = complainedRecipients[0]?.emailAddress ?? original.to
  return { kind: 'complaint', feedback_type, address, original, user_agent: userAgent ?? null, source_ip: null } satisfies Complaint
}

const rejectionOf = ({ reject }: Notification, original: OriginalMessage): BounceReport => ({
  kind: 'bounce',
  recipients: [
    {
      address: original.to,
      action: 'failed',
      status: null,
      diagnostic: reject?.reason ? oneLine(reject.reason) : null,
      class: 'policy',
      reason: 'Amazon SES refused the content of the message',
    },
  ],
  original,
})

const originalOf = ({ mail }: Notification): OriginalMessage => ({
  message_id: mail.messageId ?? null,
  to: mail.destination?.[0] ?? null,
  headers: {},
})
