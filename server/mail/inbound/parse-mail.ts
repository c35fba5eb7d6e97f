import { htmlToText } from 'html-to-text'
import { type Address, type Attachment, decodeWords, type Email } from 'postal-mime'
import { textOfHtml } from '../reports/html-text.ts'
import { automaticKind } from '../reports/is-automatic.ts'
import { splitQuoted } from '../reports/quoted-text.ts'
import { bytesOf, describeAttachment } from './attachments.ts'
import { extractData } from './extract-codes/extract-data.ts'
import { endOfHead, findMonster, limits } from './limits.ts'
import { withMendedHead } from './mend-head.ts'
import { parseMime } from './mime-parser.ts'
import { explain, type Mailbox, type ParsedAttachment, type ParsedMail } from './parsed-mail.ts'
import { oneVisibleLine, storable } from './plain-letters.ts'
import { findPlainMail, maxReadInPlace, type PlainMail } from './plain-mail.ts'

/** What goes into a row. All of it is in the raw message, however long. */
const maxLetters = { text: 1_000_000, html: 4_000_000, calendar: 500_000, subject: 1_000, name: 300, header: 10_000 }
const maxOf = { addresses: 1_000, references: 100, calendars: 10 }
/** Above this, HTML becomes text by the simpler way, whose time grows with the length and nothing else. */
const maxFormattedHtml = 300_000

/**
 * A message as people see it. Whatever the bytes are, there is an answer: what no parser should be given, or what the parser gives
 * up on, is known by its head and says so in `problem`.
 */
export async function parseMail(raw: Buffer, { envelope_from }: { envelope_from?: string } = {}): Promise<ParsedMail> {
  const parsed = await parseWholeOrHead(raw)
  // RFC 3834 section 2: what came without a sender is not to be answered, whatever its header says.
  return envelope_from === '' && parsed.automatic === 'none' ? { ...parsed, automatic: 'bounce' } : parsed
}

async function parseWholeOrHead(raw: Buffer): Promise<ParsedMail> {
  const monster = findMonster(raw)
  if (monster) return parseHeadOnly(raw, `The message ${monster}`)
  try {
    const message = withMendedHead(raw)
    const plain = findPlainMail(message)
    return plain ? await toPlainMail(plain, raw) : toParsedMail(await parse(message), null)
  } catch (error) {
    return parseHeadOnly(raw, `The message could not be taken apart (${(error as Error).message})`)
  }
}

/** The parser reads the head alone. */
async function toPlainMail({ head, text, bytes }: PlainMail, raw: Buffer): Promise<ParsedMail> {
  const parsed = toParsedMail({ ...(await parse(head)), text }, null)
  // One of blanks only, or with what no database holds, is not what is stored.
  return parsed.text === text && raw.length <= maxReadInPlace ? { ...parsed, text_in_raw: { at: raw.length - bytes, bytes } } : parsed
}

/** The bytes of one attachment, by its number in `ParsedMail.attachments`. */
export async function readAttachment(raw: Buffer, number: number): Promise<{ about: ParsedAttachment; bytes: Buffer } | null> {
  const part = (await partsOf(raw))[number - 1]
  return part ? { about: describeAttachment(part, number - 1), bytes: bytesOf(part) } : null
}

/** The bytes of all of them, in their order. */
export async function readAttachments(raw: Buffer): Promise<{ about: ParsedAttachment; bytes: Buffer }[]> {
  return (await partsOf(raw)).map((part, index) => ({ about: describeAttachment(part, index), bytes: bytesOf(part) }))
}

/** None of a message that was read by its head only. */
async function partsOf(raw: Buffer): Promise<Attachment[]> {
  if (findMonster(raw)) return []
  return parse(withMendedHead(raw)).then(
    ({ attachments }) => attachments,
    () => [],
  )
}

/** For a message that cannot be parsed at all, not even twice: it is kept, and says why. */
export async function parseHeadOnly(raw: Buffer, problem: string): Promise<ParsedMail> {
  const head = raw.subarray(0, Math.min(endOfHead(raw), limits.head_bytes / 4))
  const email = await parse(withMendedHead(head)).catch(() => ({ headers: [], headerLines: [], attachments: [] }) satisfies Email)
  return toParsedMail({ ...email, text: undefined, html: undefined, attachments: [] }, problem)
}

/** A forwarded message stays what it is, an attachment, whether or not it was meant to be shown. */
const parse = (message: Buffer): Promise<Email> =>
  parseMime(message, {
    forceRfc822Attachments: true,
    maxNestingDepth: limits.depth + 1,
    maxHeadersSize: limits.all_heads_bytes + limits.head_bytes,
  })

function toParsedMail(email: Email, problem: string | null): ParsedMail {
  const headers = email.headers.map(({ key, value }) => ({
    name: storable(key, 100),
    value: storable(decodeWords(value.slice(0, maxLetters.header)), maxLetters.header),
  }))
  const html = email.html?.trim() ? storable(email.html, maxLetters.html) : null
  const text = problem ? explain(problem) : textOf(email.text, html)
  const from = mailboxesOf(email.from ? [email.from] : [])[0] ?? null
  const subject = email.subject === undefined ? null : oneVisibleLine(email.subject, maxLetters.subject)
  return {
    message_id: idsIn(email.messageId)[0] ?? null,
    in_reply_to: idsIn(email.inReplyTo)[0] ?? null,
    references: idsIn(email.references),
    from,
    reply_to: mailboxesOf(email.replyTo)[0] ?? null,
    to: mailboxesOf(email.to),
    cc: mailboxesOf(email.cc),
    subject,
    date: dateOf(email.date),
    text,
    text_in_raw: null,
    html,
    // Cut to a length of its own, perhaps in the middle of a pair.
    extracted_text: text === null || problem ? null : splitQuoted(text).text.toWellFormed(),
    attachments: email.attachments.map(describeAttachment),
    calendars: calendarsOf(email),
    automatic: automaticKind(headers),
    headers,
    extracted_data: problem ? null : extractData({ subject, text, html, from }),
    problem,
  }
}

/** An invitation is often there twice: as one of the forms of the text, and as a file. */
function calendarsOf({ attachments }: Email): string[] {
  const texts = attachments
    .filter(({ mimeType }) => mimeType === 'text/calendar' || mimeType === 'application/ics')
    .map((part) => storable(bytesOf(part).toString('utf8', 0, 2 * maxLetters.calendar), maxLetters.calendar))
  return [...new Set(texts)].slice(0, maxOf.calendars)
}

function textOf(text: string | undefined, html: string | null): string | null {
  if (text?.trim()) return storable(text, maxLetters.text)
  return html === null ? null : storable(textFromHtml(html), maxLetters.text)
}

function textFromHtml(html: string): string {
  if (html.length > maxFormattedHtml) return textOfHtml(html)
  return htmlToText(html, {
    wordwrap: false,
    limits: { maxDepth: 100 },
    selectors: [
      { selector: 'a', options: { linkBrackets: ['<', '>'], hideLinkHrefIfSameAsText: true } },
      { selector: 'img', format: 'skip' },
      ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((selector) => ({ selector, options: { uppercase: false } })),
    ],
  })
}

/** Groups are taken apart; what has no @ is no address. */
function mailboxesOf(addresses: Address[] = []): Mailbox[] {
  return addresses
    .flatMap((each) => each.group ?? [each])
    .map(({ name, address }) => ({
      name: oneVisibleLine(name, maxLetters.name) || null,
      address: oneVisibleLine(address ?? '', 320),
    }))
    .filter(({ address }) => /^[^\s@].*@[^\s@]+$/.test(address))
    .slice(0, maxOf.addresses)
}

/** RFC 5322 section 3.6.4, and programs that leave out the angle brackets. */
function idsIn(value: string | undefined): string[] {
  const text = storable(value ?? '', 100_000).trim()
  const ids = [...text.matchAll(/<([^<>\s]{1,990})>/g)].map((match) => match[1] as string)
  if (ids.length === 0 && /^[^<>\s]{1,990}$/.test(text)) return [text]
  // A thread that goes on for years: where it began, and where it is now.
  return ids.length <= maxOf.references ? ids : [ids[0] as string, ...ids.slice(1 - maxOf.references)]
}

/** Clocks and programs are wrong in many ways; a time that no calendar has room for is none. */
function dateOf(value: string | undefined): Date | null {
  if (!value) return null
  const written = value.slice(0, 200)
  // The names of most time zones are no part of any standard (RFC 5322 section 4.3): then it is taken for UTC.
  const spellings = [written, written.replace(/\([^()]*\)/g, ' '), written.replace(/(\d{2}:\d{2}(?::\d{2})?).*/s, '$1 +0000')]
  const date = spellings.map((text) => new Date(text.trim())).find((each) => !Number.isNaN(each.getTime()))
  return date && date.getUTCFullYear() >= 1970 && date.getUTCFullYear() < 2200 ? date : null
}
