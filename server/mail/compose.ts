import MailComposer from 'nodemailer/lib/mail-composer'
import { encodeWord } from 'nodemailer/lib/mime-funcs'
import { writeMessage } from './write-message.ts'

export interface OutgoingMail {
  from: { name: string | null; address: string }
  to: string
  reply_to: string | null
  subject: string
  /** At least one of the two bodies is there. */
  text: string | null
  html: string | null
  /** Without the angle brackets. */
  message_id: string
  /** Where bounces come, if not to MAIL_DOMAIN. No part of the message. */
  return_host?: string
  date: Date
  attachments?: OutgoingAttachment[]
  /** Further fields. Those that the composer writes itself (From, Subject, Content-Type, …) are refused. */
  headers: Record<string, string>
}

/** It waits in a queue, as JSON. */
export interface OutgoingAttachment {
  filename: string
  content_type: string
  /** What the HTML calls it by, for a picture in it. */
  content_id: string | null
  base64: string
}

/** RFC 5322 section 2.1.1 allows 998 octets on a line; a word this long still fits beside its field name. */
const maxWordOctets = 900
/** No client shows more of a name, and a display name without a space cannot be folded. */
const maxNameLetters = 256
/** RFC 5321 section 4.5.3.1: 64 before the @, 255 after it. */
const maxAddressLetters = 320

const ownFields = /^(?:from|to|bcc|subject|date|message-id|reply-to|mime-version|content-.*)$/i
/** Fields of addresses and ids, which nodemailer takes apart and encodes itself. */
const addressFields = /^(?:sender|cc|references)$/i

/** A complete RFC 5322 message: CRLF line ends, ASCII but for local parts that are not (RFC 6532), text before html. */
export async function composeMessage(mail: OutgoingMail): Promise<Buffer> {
  const composer = new MailComposer({
    from: { name: displayName(mail.from.name ?? ''), address: bareAddress('From', mail.from.address) },
    to: { name: '', address: bareAddress('To', mail.to) },
    ...(mail.reply_to === null ? {} : { replyTo: { name: '', address: bareAddress('Reply-To', mail.reply_to) } }),
    messageId: `<${mail.message_id.replace(/[^!-;=?-~]/g, '')}>`,
    date: mail.date,
    ...(mail.text === null ? {} : { text: bodyText(mail.text) }),
    ...(mail.html === null ? {} : { html: bodyText(mail.html) }),
    ...(mail.attachments === undefined ? {} : { attachments: mail.attachments.map(asAttachment) }),
    headers: { Subject: prepared('Subject', unstructured(oneLine(mail.subject))), ...extraHeaders(mail.headers) },
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return writeMessage(composer.compile())
}

const asAttachment = ({ filename, content_type, content_id, base64 }: OutgoingAttachment) => ({
  filename: oneLine(filename),
  contentType: content_type,
  content: Buffer.from(base64, 'base64'),
  ...(content_id === null ? {} : { cid: oneLine(content_id).replace(/[^!-;=?-~]/g, '') }),
})

function extraHeaders(headers: Record<string, string>) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (!/^[!-9;-~]+$/.test(name)) throw new Error(`${JSON.stringify(name)} is not a header field name`)
      if (ownFields.test(name)) throw new Error(`The header field ${name} is written by the composer`)
      const line = oneLine(value).replace(/ {2,}/g, ' ').trim()
      if (addressFields.test(name)) return [name, foldable(name, line)]
      // One word is for machines, such as a Feedback-ID, and they decode nothing.
      if (/^[!-~]+$/.test(line)) return [name, prepared(name, line)]
      return [name, prepared(name, line.includes('<') ? phraseAndIds(line) : unstructured(line))]
    }),
  )
}

/** "prepared" keeps nodemailer from encoding the value: it would turn `List-ID: "News" <news.example>` into one encoded word. */
const prepared = (name: string, value: string) => ({ prepared: true, foldLines: value.includes(' '), value: foldable(name, value) })

function foldable(name: string, value: string): string {
  if (value.split(' ').every((word) => word.length <= maxWordOctets)) return value
  throw new Error(`The header field ${name} has a word longer than ${maxWordOctets} bytes, which cannot be folded`)
}

/** The text itself where it can stand as it is, else encoded words (RFC 2047), which also keep spaces that folding would lose. */
function unstructured(line: string): string {
  // A longer first word would be folded away from the name of its field, which must not stand alone on its line.
  const isPlain =
    /^[!-~]{1,50}(?: [!-~]+)*$/.test(line) && !line.includes('=?') && line.split(' ').every((word) => word.length <= maxWordOctets)
  return isPlain || line === '' ? line : encode(line)
}

/** Encodes what stands between <…>, never the <…> themselves: those are addresses, ids and URLs that machines read. */
function phraseAndIds(line: string): string {
  return line
    .split(/(<[^<>]*>)/)
    .map((part) =>
      isAscii(part) ? part : part.replace(/^(\s*)(.*?)(\s*)$/, (_, before, text, after) => before + encode(unquote(text)) + after),
    )
    .join('')
}

const unquote = (text: string) => (/^"(?:[^"\\]|\\.)*"$/.test(text) ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text)

/** Base64 unless most of it is ASCII letters, which stay readable in Q. 52 leaves room for the field name on the first line. */
const encode = (text: string) => encodeWord(text, text.replace(/[^a-z]/gi, '').length * 2 > text.length ? 'Q' : 'B', 52)

/** A line break in a header value would begin a header of somebody else's choosing. */
const oneLine = (text: string) => text.toWellFormed().replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')

/**
 * Addresses are parsed long before they come here. One that could still be read as two is a mistake to stop at: nodemailer would
 * quote what it finds before the last @ and so write to a domain nobody named.
 */
function bareAddress(field: string, address: string): string {
  if (address.length > maxAddressLetters || !/^[^\s\p{Cc}<>(),:;"\\[\]@]+@[^\s\p{Cc}<>(),:;"\\[\]@]+$/u.test(address)) {
    throw new Error(`${field} is not a bare e-mail address`)
  }
  return address
}

const displayName = (name: string) => [...oneLine(name).replace(/\s+/g, ' ').trim()].slice(0, maxNameLetters).join('')

/** A bare CR or LF is no line end in mail, and receivers that disagree can be made to see a second message (SMTP smuggling). */
const bodyText = (text: string) =>
  text
    .toWellFormed()
    .replaceAll('\0', '')
    .replace(/\r\n|\r|\n/g, '\r\n')

const isAscii = (text: string) => !/[^\0-\x7f]/.test(text)
