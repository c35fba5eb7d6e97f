import type { ParsedMail } from './parsed-mail.ts'
import { readPlainBody } from './plain-mail.ts'

type Long = 'text' | 'html' | 'extracted_text' | 'headers'

export interface Bodies {
  text_body: string | null
  html_body: string | null
  /** Most mail quotes nothing: what would be the same once more is left out, and shown from the text (`toInboxDetail`). */
  extracted_text: string | null
}

/**
 * A mail whose long parts are bytes: the thread that reads it writes them as they go into the database, and who files it hands them on
 * unread. As text they would be copied three times on their way, and be most of what the collector of garbage has to look through.
 */
export interface PackedMail extends Omit<ParsedMail, Long> {
  /** The bodies in UTF-8, one behind the other, and then the headers in JSON: together, because each buffer that passes between threads costs. */
  long: Uint8Array<ArrayBuffer>
  /** How many bytes each body has in `long`; null for none. */
  body_bytes: { [Body in keyof Bodies]: number | null }
  /** How many letters `extracted_text` has. */
  new_letters: number
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** A text that the raw message has as it is stays there. */
export function packMail({ text, html, extracted_text, headers, ...rest }: ParsedMail): PackedMail {
  const packed = rest.text_in_raw === null ? text : null
  const news = extracted_text === text?.trim() ? null : extracted_text
  const head = JSON.stringify(headers)
  const body_bytes = { text_body: bytesOf(packed), html_body: bytesOf(html), extracted_text: bytesOf(news) }
  const long = new Uint8Array(sizeOf(body_bytes) + Buffer.byteLength(head))
  let at = 0
  for (const part of [packed, html, news, head]) if (part) at += encoder.encodeInto(part, long.subarray(at)).written
  return { ...rest, long, body_bytes, new_letters: extracted_text?.length ?? 0 }
}

const bytesOf = (text: string | null): number | null => (text === null ? null : Buffer.byteLength(text))

const sizeOf = ({ text_body, html_body, extracted_text }: PackedMail['body_bytes']): number =>
  (text_body ?? 0) + (html_body ?? 0) + (extracted_text ?? 0)

/** All bodies, as they stand one behind the other. */
export const bodyBytesOf = ({ long, body_bytes }: PackedMail): Uint8Array => long.subarray(0, sizeOf(body_bytes))

/** When nobody reads it any more. Until V8 found that out, bytes of megabytes would make it mark the whole heap, again and again. */
export const letGoOfBytes = ({ buffer }: Uint8Array<ArrayBuffer>): void => void buffer.transfer(0)

/** The same with its text in `long`, for whoever has the raw message no longer, or elsewhere. */
export function withText(packed: PackedMail, raw: Buffer): PackedMail {
  if (packed.text_in_raw === null) return packed
  const { at, bytes } = packed.text_in_raw
  const text = encoder.encode(readPlainBody(raw.subarray(at, at + bytes)))
  const long = new Uint8Array(text.length + packed.long.length)
  long.set(text)
  long.set(packed.long, text.length)
  return { ...packed, long, body_bytes: { ...packed.body_bytes, text_body: text.length }, text_in_raw: null }
}

export function bodiesOf(packed: PackedMail, raw: Buffer): Bodies {
  const { long, body_bytes } = withText(packed, raw)
  let at = 0
  const next = (bytes: number | null) => {
    if (bytes === null) return null
    at += bytes
    return decoder.decode(long.subarray(at - bytes, at))
  }
  return { text_body: next(body_bytes.text_body), html_body: next(body_bytes.html_body), extracted_text: next(body_bytes.extracted_text) }
}

export const headersOf = ({ long, body_bytes }: PackedMail): ParsedMail['headers'] =>
  JSON.parse(decoder.decode(long.subarray(sizeOf(body_bytes)))) as ParsedMail['headers']
