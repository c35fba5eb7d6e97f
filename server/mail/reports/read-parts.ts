import { type Attachment, decodeWords, type Email } from 'postal-mime'
import { withMendedHead } from '../inbound/mend-head.ts'
import { parseMime } from '../inbound/mime-parser.ts'
import type { Field } from './header-fields.ts'
import { textOfHtml } from './html-text.ts'

/** The parts of a mail that can say what became of another one. */
export interface ReportParts {
  headers: Field[]
  subject: string
  /** Of Content-Type, lower-case: the `report-type` of multipart/report. */
  reportType: string | null
  /** What a person would read: the notice itself, then perhaps the returned message. */
  text: string
  /** As it came, for the links in it. */
  html: string
  deliveryStatus: string | null
  feedbackReport: string | null
  /** The header of the returned message. */
  originalHead: string | null
}

/**
 * All that matters of a report stands at its beginning: notice, fields, header of the returned message, whose body is not looked at. A
 * quarter of a megabyte holds the largest notices we know, with pictures in them, and keeps the work on 25 MB the same as on 250 kB. As
 * lines of 76 letters it has 3,500; a line costs the parser more than the letters in it.
 */
const maxBytesRead = 256 * 1024
const maxLinesRead = 5_000
const maxTextLetters = 32 * 1024
const maxHeadBytes = 32 * 1024
/** Of all parts together, the returned message's own not counted. */
const maxHeaderBytes = 128 * 1024
const maxHeaderFields = 200
const maxValueLetters = 10_000
const maxSubjectLetters = 1_000

/** Null when the bytes are no mail that can be taken apart: nested a hundred deep, or all header. That is no report either. */
export async function readParts(raw: Buffer): Promise<ReportParts | null> {
  const email = await parseBeginning(beginningOf(raw))
  if (!email) return null
  const headers = email.headers.slice(0, maxHeaderFields).map(({ key, value }) => ({ name: key, value: decodeWords(cut(key, value)) }))
  const contentType = headers.find(({ name }) => name === 'content-type')?.value ?? ''
  const textPart = email.text?.trim() ? email.text : null
  const html = email.html ?? ''
  return {
    headers,
    subject: (email.subject ?? '').slice(0, maxSubjectLetters),
    reportType: /;\s*report-type\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1]?.toLowerCase() ?? null,
    text: (textPart ?? textOfHtml(html.slice(0, 2 * maxTextLetters))).slice(0, maxTextLetters),
    html,
    deliveryStatus: contentOf(email, /^message\/(?:global-)?delivery-status$/),
    feedbackReport: contentOf(email, /^message\/feedback-report$/),
    originalHead: contentOf(email, /^(?:message\/(?:rfc822|global|global-headers|partial)|text\/rfc822-headers?)$/),
  }
}

function beginningOf(raw: Buffer): Buffer {
  const bytes = raw.subarray(0, maxBytesRead)
  let end = 0
  for (let lines = 0; lines < maxLinesRead && end < bytes.length; lines++) {
    const lineFeed = bytes.indexOf(0x0a, end)
    end = lineFeed < 0 ? bytes.length : lineFeed + 1
  }
  return bytes.subarray(0, end)
}

/** Of a thread that goes on for years the end matters: there stands what is answered. */
const cut = (name: string, value: string): string =>
  name === 'references' ? value.slice(-maxValueLetters) : value.slice(0, maxValueLetters)

async function parseBeginning(bytes: Buffer): Promise<Email | null> {
  try {
    const options = { forceRfc822Attachments: true, maxNestingDepth: 32, maxHeadersSize: maxHeaderBytes }
    return await parseMime(withMendedHead(bytes), options)
  } catch {
    // The parser refuses by throwing. Whatever it refuses is for the mailbox to keep, not for us to act on.
    return null
  }
}

function contentOf(email: Email, type: RegExp): string | null {
  const part = email.attachments.find(({ mimeType, content }) => type.test(mimeType) && sizeOf(content) > 0)
  return part
    ? Buffer.from(part.content as ArrayBuffer)
        .subarray(0, maxHeadBytes)
        .toString('utf8')
    : null
}

const sizeOf = (content: Attachment['content']) => (typeof content === 'string' ? content.length : content.byteLength)
