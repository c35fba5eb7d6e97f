import type { ParsedMail } from './parsed-mail.ts'
import { readPlainBody } from './plain-mail.ts'

export interface Bodies {
  text_body: string | null
  html_body: string | null
  /** Most mail quotes nothing: what would be the same once more is left out, and shown from the text (`toInboxDetail`). */
  extracted_text: string | null
}

/**
 * A mail whose bodies are bytes: the thread that reads it writes them as they go into the database, and who files it hands them on
 * unread. As text they would be copied three times on their way, and be most of what the collector of garbage has to look through.
 */
export interface PackedMail extends Omit<ParsedMail, 'text' | 'html' | 'extracted_text' | 'headers'> {
  /** In UTF-8, one behind the other. Null for none: a buffer that passes between threads costs more than all else that does. */
  bodies: Uint8Array<ArrayBuffer> | null
  /** How many bytes each has in `bodies`; null for none. */
  body_bytes: { [Body in keyof Bodies]: number | null }
  /** In JSON: few ask for them. */
  headers: string
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** A text that the raw message has as it is stays there. */
export function packMail({ text, html, extracted_text, headers, ...rest }: ParsedMail): PackedMail {
  const packed = rest.text_in_raw === null ? text : null
  const news = extracted_text === text?.trim() ? null : extracted_text
  const body_bytes = { text_body: bytesOf(packed), html_body: bytesOf(html), extracted_text: bytesOf(news) }
  const bodies = written([packed, html, news], sizeOf(body_bytes))
  return { ...rest, bodies, body_bytes, headers: JSON.stringify(headers) }
}

function written(texts: (string | null)[], bytes: number): PackedMail['bodies'] {
  if (bytes === 0) return null
  const all = new Uint8Array(bytes)
  let at = 0
  for (const text of texts) if (text) at += encoder.encodeInto(text, all.subarray(at)).written
  return all
}

const bytesOf = (text: string | null): number | null => (text === null ? null : Buffer.byteLength(text))

const sizeOf = ({ text_body, html_body, extracted_text }: PackedMail['body_bytes']): number =>
  (text_body ?? 0) + (html_body ?? 0) + (extracted_text ?? 0)

/** When nobody reads them any more. Until V8 found that out, bytes of megabytes would make it mark the whole heap, again and again. */
export const letGoOfBodies = ({ bodies }: PackedMail): void => void bodies?.buffer.transfer(0)

/** The same with its text in `bodies`, for whoever has the raw message no longer, or elsewhere. */
export function withText(packed: PackedMail, raw: Buffer): PackedMail {
  if (packed.text_in_raw === null) return packed
  const { at, bytes } = packed.text_in_raw
  const text = encoder.encode(readPlainBody(raw.subarray(at, at + bytes)))
  const bodies = new Uint8Array(text.length + (packed.bodies?.length ?? 0))
  bodies.set(text)
  if (packed.bodies) bodies.set(packed.bodies, text.length)
  return { ...packed, bodies, body_bytes: { ...packed.body_bytes, text_body: text.length }, text_in_raw: null }
}

export function bodiesOf(packed: PackedMail, raw: Buffer): Bodies {
  const { text_body, html_body, extracted_text } = bodyBytesOf(withText(packed, raw))
  const read = (bytes: Uint8Array | null) => (bytes === null ? null : decoder.decode(bytes))
  return { text_body: read(text_body), html_body: read(html_body), extracted_text: read(extracted_text) }
}

/** Each as it goes into the database. */
export function bodyBytesOf({ bodies, body_bytes }: PackedMail) {
  let at = 0
  const next = (bytes: number | null): Uint8Array | null => {
    if (bytes === null) return null
    at += bytes
    return bodies?.subarray(at - bytes, at) ?? noBytes
  }
  return { text_body: next(body_bytes.text_body), html_body: next(body_bytes.html_body), extracted_text: next(body_bytes.extracted_text) }
}

const noBytes = new Uint8Array()

export const headersOf = ({ headers }: PackedMail): ParsedMail['headers'] => JSON.parse(headers) as ParsedMail['headers']
