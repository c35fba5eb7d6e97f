import { fieldValue, readFieldBlocks } from './header-fields.ts'
import { readOriginal } from './original-message.ts'
import type { Complaint } from './report.ts'
import { readReportAddress } from './report-address.ts'

/** Praise, and failed signatures (RFC 6591): nobody asked for anything. */
const notComplaints = /^(?:not-spam|auth-failure|dmarc|dkim)$/

/** Whether feedback of this type, in lower case, says that somebody did not want the mail. */
export const isComplaintType = (type: string): boolean => !notComplaints.test(type)

/** RFC 5965. Null when the feedback is no complaint. */
export function readFeedback(content: string, originalHead: string | null): Complaint | null {
  const fields = readFieldBlocks(content, 5).flat()
  const type = /^[\w-]+/.exec((fieldValue(fields, 'feedback-type') ?? '').toLowerCase())?.[0]
  if (!type || !isComplaintType(type)) return null
  const original = readOriginal(originalHead)
  const named = ['original-rcpt-to', 'removal-recipient', 'redacted-address', 'original-recipient'].map((name) =>
    readReportAddress(fieldValue(fields, name)),
  )
  const mailFrom = fieldValue(fields, 'original-mail-from')
  const headers = mailFrom && !original.headers['return-path'] ? { 'return-path': mailFrom, ...original.headers } : original.headers
  return {
    kind: 'complaint',
    feedback_type: type,
    address: named.find((address) => address !== null) ?? original.to,
    original: { ...original, headers },
    user_agent: fieldValue(fields, 'user-agent'),
    source_ip: /^[\da-f.:]{3,45}$/i.exec((fieldValue(fields, 'source-ip', 'source') ?? '').replace(/^IPv6:|[[\]]/gi, ''))?.[0] ?? null,
  }
}
