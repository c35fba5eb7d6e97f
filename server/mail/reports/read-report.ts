import { readDeliveryStatus } from './delivery-status.ts'
import { readFeedback } from './feedback-report.ts'
import { readOriginal } from './original-message.ts'
import type { ReportParts } from './read-parts.ts'
import type { BouncedRecipient, Report } from './report.ts'
import { readTextBounce } from './text-bounce.ts'

/**
 * What came back: a bounce (RFC 3464, or one of the many that follow no standard), a complaint (RFC 5965), or null for any other mail.
 * It never throws, whatever is in the parts: anybody may write to a return path.
 */
export function readReport(parts: ReportParts): Report | null {
  if (isOtherReport(parts)) return null
  if (parts.feedbackReport !== null) return readFeedback(parts.feedbackReport, parts.originalHead)
  return readStandardBounce(parts) ?? readOldComplaint(parts) ?? readTextBounce(parts)
}

/** Receipts (RFC 8098) and TLS reports (RFC 8460) are multipart/report as well. */
const isOtherReport = ({ reportType }: ReportParts) => reportType === 'disposition-notification' || reportType === 'tlsrpt'

function readStandardBounce(parts: ReportParts): Report | null {
  // Gateways that take a report apart leave its fields in the text.
  const status = parts.deliveryStatus ?? (/^Final-Recipient:/im.test(parts.text) ? parts.text : null)
  const recipients = status === null ? [] : readDeliveryStatus(status, parts.text)
  if (recipients.length === 0) return null
  const original = readOriginal(parts.originalHead)
  const [only] = recipients
  const named: BouncedRecipient[] = recipients.length === 1 && only?.address === null ? [{ ...only, address: original.to }] : recipients
  return { kind: 'bounce', recipients: named, original }
}

/** Outlook.com's junk mail reporting before it spoke RFC 5965, which some partners still send. */
function readOldComplaint(parts: ReportParts): Report | null {
  if (parts.originalHead === null || !/^complaint about message from /i.test(parts.subject)) return null
  return readFeedback('Feedback-Type: abuse', parts.originalHead)
}
