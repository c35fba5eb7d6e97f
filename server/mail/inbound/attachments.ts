import type { Attachment } from 'postal-mime'
import type { ParsedAttachment } from './parsed-mail.ts'
import { oneVisibleLine } from './plain-letters.ts'

/** With its extension; file systems take 255 bytes, and letters of four bytes are letters too. */
const maxNameBytes = 200
const maxExtensionLetters = 12
const maxContentIdLetters = 300

const extensions: Record<string, string> = {
  'text/plain': '.txt',
  'text/html': '.html',
  'text/calendar': '.ics',
  'text/csv': '.csv',
  'application/ics': '.ics',
  'application/pdf': '.pdf',
  'application/zip': '.zip',
  'application/ms-tnef': '.dat',
  'application/pkcs7-mime': '.p7m',
  'application/x-pkcs7-mime': '.p7m',
  'application/pkcs7-signature': '.p7s',
  'application/x-pkcs7-signature': '.p7s',
  'application/pgp-signature': '.asc',
  'application/pgp-encrypted': '.asc',
  'message/rfc822': '.eml',
  'message/delivery-status': '.txt',
  'image/jpeg': '.jpg',
  'image/png': '.png',
  'image/gif': '.gif',
  'image/webp': '.webp',
}

export function describeAttachment(part: Attachment, index: number): ParsedAttachment {
  const number = index + 1
  const content_type = safeContentType(part.mimeType)
  const content_id = part.contentId ? oneVisibleLine(part.contentId, maxContentIdLetters).replace(/^<|>$/g, '') || null : null
  return {
    number,
    filename: safeFilename(part.filename, { number, content_type }),
    content_type,
    size: bytesOf(part).length,
    content_id,
    is_inline: part.disposition === 'inline' || (part.related === true && part.disposition !== 'attachment'),
  }
}

export function bytesOf({ content }: Attachment): Buffer {
  if (typeof content === 'string') return Buffer.from(content)
  return content instanceof Uint8Array ? Buffer.from(content.buffer, content.byteOffset, content.byteLength) : Buffer.from(content)
}

/** RFC 2045 section 5.1, without parameters: it is sent on as a header. */
const safeContentType = (type: string): string =>
  /^[a-z\d][a-z\d!#$&^_.+-]{0,100}\/[a-z\d][a-z\d!#$&^_.+-]{0,100}$/.test(type) ? type : 'application/octet-stream'

/** Windows gives these to devices, with any extension. */
const reserved = /^(?:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$)(?=$|\.)/i

/** The last part of whatever path it is, without what file systems, shells and eyes stumble over. Never empty. */
export function safeFilename(given: string | null, { number, content_type }: { number: number; content_type: string }): string {
  const last = (given ?? '').split(/[/\\]/).findLast((part) => part.trim() !== '') ?? ''
  const cleaned = oneVisibleLine(last, 1_000)
    .replace(/[<>:"|?*\u2044\u2215\u29f8\uff0f\uff3c]/g, '_')
    .replace(/^[\s.~-]+/, '')
    .replace(/[\s.]+$/, '')
  if (cleaned === '') return `attachment-${number}${extensions[content_type] ?? '.bin'}`
  return shorten(cleaned.replace(reserved, '_$&'))
}

function shorten(name: string): string {
  if (Buffer.byteLength(name) <= maxNameBytes) return name
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= maxExtensionLetters ? name.slice(dot) : ''
  let stem = ''
  let bytes = Buffer.byteLength(extension)
  for (const letter of name.slice(0, name.length - extension.length)) {
    bytes += Buffer.byteLength(letter)
    if (bytes > maxNameBytes) break
    stem += letter
  }
  return stem + extension
}
