import { type Field, fieldValue, readFieldBlocks } from './header-fields.ts'
import type { OriginalMessage } from './report.ts'
import { readReportAddress } from './report-address.ts'

const telling = /^(?:return-path|list-.+|feedback-id|cfbl-.+|x-.+)$/
const maxHeaders = 40
const maxValueLetters = 1000

export const unknownOriginal: OriginalMessage = { message_id: null, to: null, headers: {} }

/** From the head of the returned message, be it a part of its own or the end of a notice. */
export function readOriginal(head: string | null): OriginalMessage {
  const [fields] = head ? readFieldBlocks(head.trimStart(), 1) : []
  if (!fields) return unknownOriginal
  return {
    message_id: /<([^<>\s]{1,998})>/.exec(fieldValue(fields, 'message-id') ?? '')?.[1] ?? null,
    to: recipientOf(fields),
    headers: tellingHeaders(fields),
  }
}

function recipientOf(fields: Field[]): string | null {
  // Outlook.com hides To: and names the one who complained here.
  return (
    readReportAddress(fieldValue(fields, 'x-hmxmroriginalrecipient')) ??
    readReportAddress(fieldValue(fields, 'to', 'x-original-to', 'delivered-to'))
  )
}

function tellingHeaders(fields: Field[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { name, value } of fields.filter((field) => telling.test(field.name)).slice(0, maxHeaders)) {
    headers[name] ??= value.slice(0, maxValueLetters)
  }
  return headers
}
