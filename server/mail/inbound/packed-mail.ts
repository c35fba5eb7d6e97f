import type { ParsedMail } from './parsed-mail.ts'

type Long = 'text' | 'html' | 'extracted_text' | 'headers'

/**
 * A mail whose long parts are bytes: the thread that reads it writes them as they go into the database, and who files it hands them on
 * unread. As text they would be copied three times on their way, and be most of what the collector of garbage has to look through.
 */
export interface PackedMail extends Omit<ParsedMail, Long> {
  /** JSON: `text_body`, `html_body` and `extracted_text` of a row of `emails`. */
  bodies: Uint8Array<ArrayBuffer>
  /** JSON, too. */
  headers: Uint8Array<ArrayBuffer>
  /** How many letters `extracted_text` has. */
  new_letters: number
}

export interface Bodies {
  text_body: string | null
  html_body: string | null
  /** Most mail quotes nothing: what would be the same once more is left out, and shown from the text (`toInboxDetail`). */
  extracted_text: string | null
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function packMail({ text, html, extracted_text, headers, ...rest }: ParsedMail): PackedMail {
  const bodies: Bodies = { text_body: text, html_body: html, extracted_text: extracted_text === text?.trim() ? null : extracted_text }
  return {
    ...rest,
    bodies: encoder.encode(JSON.stringify(bodies)),
    headers: encoder.encode(JSON.stringify(headers)),
    new_letters: extracted_text?.length ?? 0,
  }
}

export const bodiesOf = ({ bodies }: PackedMail): Bodies => JSON.parse(decoder.decode(bodies)) as Bodies
export const headersOf = ({ headers }: PackedMail): ParsedMail['headers'] => JSON.parse(decoder.decode(headers)) as ParsedMail['headers']
