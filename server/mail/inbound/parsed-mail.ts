import type { AutomaticKind } from '../reports/is-automatic.ts'
import type { TextInRaw } from './plain-mail.ts'

export interface Mailbox {
  name: string | null
  address: string
}

/** A message as people see it. Everything in it was written by strangers. */
export interface ParsedMail {
  /** Without angle brackets, as are the next two. */
  message_id: string | null
  in_reply_to: string | null
  references: string[]
  from: Mailbox | null
  reply_to: Mailbox | null
  to: Mailbox[]
  cc: Mailbox[]
  subject: string | null
  date: Date | null
  /** Plain text; made from the HTML where there was none. */
  text: string | null
  /** Where the text is in the raw message, when it is there as it is. */
  text_in_raw: TextInRaw | null
  /** As it was sent: only ever shown after `sanitiseHtml`. */
  html: string | null
  /** What is new in it, without quotes and signature. */
  extracted_text: string | null
  attachments: ParsedAttachment[]
  /** The text/calendar parts, as text. */
  calendars: string[]
  automatic: AutomaticKind
  /** Names in lower case, in their order, unfolded and decoded. */
  headers: { name: string; value: string }[]
  extracted_data: ExtractedData | null
  /** Why no more than the head of it was read, in words for people, which `text` then has too; null for all other mail. */
  problem: string | null
}

/** A message of which nothing could be read, kept with a word about why. */
export const parsedNothing = (problem: string): ParsedMail => ({
  message_id: null,
  in_reply_to: null,
  references: [],
  from: null,
  reply_to: null,
  to: [],
  cc: [],
  subject: null,
  date: null,
  text: explain(problem),
  text_in_raw: null,
  html: null,
  extracted_text: null,
  attachments: [],
  calendars: [],
  automatic: 'none',
  headers: [],
  extracted_data: null,
  problem,
})

export const explain = (problem: string): string => `${problem}. The original message is kept and can be downloaded.`

export interface ParsedAttachment {
  /** From 1, in the order of the message: `…/attachments/{number}`. */
  number: number
  /** Safe to save under: no path, no control characters, never empty. */
  filename: string
  content_type: string
  size: number
  content_id: string | null
  is_inline: boolean
}

/** What programs wait for: the code and the link of a sign-in or a confirmation. */
export interface ExtractedData {
  code?: string
  link?: string
  kind: 'sign_in' | 'verification' | 'password_reset' | 'other'
}

/** How the sender proved who they are. Results are the words of RFC 8601. */
export interface Verdicts {
  spf: { result: string; domain: string | null }
  dkim: { result: string; domain: string; selector: string }[]
  dmarc: { result: string; policy: string | null; domain: string | null }
  arc: { result: string }
  /** The From domain, when SPF or DKIM passed for it in alignment. */
  authenticated_domain: string | null
}
