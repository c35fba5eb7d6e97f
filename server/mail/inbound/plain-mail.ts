import { isAscii, isUtf8 } from 'node:buffer'

/** So large may a raw message be whose text is read out of it: larger ones are not in the database (`features/raw-mail/`). */
export const maxReadInPlace = 64 * 1024

/** A stretch of a raw message that is its text, word for word but for line ends. */
export interface TextInRaw {
  at: number
  bytes: number
}

export interface PlainMail {
  head: Buffer
  text: string
  /** Of the body, which is all the rest of the message. */
  bytes: number
}

/**
 * Takes apart a message whose head says that it is nothing but text which needs no decoding; null for every other, and where the least is
 * odd. Then no parser has to look at the text, nor does it have to be stored a second time.
 */
export function findPlainMail(message: Buffer): PlainMail | null {
  const endOfFields = message.indexOf('\r\n\r\n')
  if (endOfFields < 0) return null
  const at = endOfFields + 4
  const [head, body] = [message.subarray(0, at), message.subarray(at)]
  if (!isPlainHead(head.toString('latin1')) || !body.subarray(-2).equals(lineEnd) || !isUtf8(body)) return null
  const text = readPlainBody(body)
  // A mark of the order of bytes is no letter, and stray carriage returns need more care.
  return text.includes('\r') || text.startsWith('\ufeff') ? null : { head, text, bytes: body.length }
}

/** As `emailText` reads it out of the database: the two are one rule. */
export const readPlainBody = (body: Buffer): string =>
  // Twice as quick where each byte is a letter.
  body.toString(isAscii(body) ? 'latin1' : 'utf8').replaceAll('\r\n', '\n')

const lineEnd = Buffer.from('\r\n')

/** Every field that says something about the body, as far as it is folded. */
const contentFields = /^content-.*(?:\r\n[ \t].*)*/gim
const oddLines = /^\s|[^\r]\n|\r[^\n]/
const isPlainHead = (head: string): boolean =>
  !oddLines.test(head) && (head.match(contentFields) ?? []).every((field) => plainField.test(field.replaceAll('\r\n', '')))

const charset = /;[ \t]*charset[ \t]*=[ \t]*(?:"(?:utf-8|us-ascii)"|utf-8|us-ascii)[ \t]*/
const plainField = new RegExp(
  `^content-(?:type[ \\t]*:[ \\t]*text/plain[ \\t]*(?:${charset.source})?|transfer-encoding[ \\t]*:[ \\t]*(?:7bit|8bit|binary)[ \\t]*)$`,
  'i',
)
