import { classifyFailure, smtpCodeIn, statusIn } from './classify.ts'
import { fieldValue } from './header-fields.ts'
import { bounceSubject, delayNotice, failurePhrase, mailSystemSender, otherAutomaticSubject, returnedMessageMark } from './notice-rules.ts'
import { oneLine } from './one-line.ts'
import { readOriginal } from './original-message.ts'
import type { ReportParts } from './read-parts.ts'
import type { BouncedRecipient, BounceReport } from './report.ts'
import { addressesIn } from './report-address.ts'

const maxRecipients = 50
const maxNoticeLetters = 12_000
const maxSegmentLines = 30

const addressLabel = /^(?:to|an|à|para|recipient|final recipient|e-?mail|rcpt to|empfänger|destinataire|收件人|宛先)\s*[:：]\s*/i

/**
 * An address that begins its line, be it in a list, in brackets, or after "To:". Step by step: as one pattern, a row of quotes takes the
 * cube of its length.
 */
function leadingAddress(line: string): string {
  const words = line.replace(/^[\s>*•\-–<'"([]+/, '').replace(addressLabel, '')
  return /^[^\s<>]+@[^\s<>]+/.exec(words.replace(/^[<'"([]+/, ''))?.[0] ?? ''
}

/** A bounce that is only text for people: qmail, old Exim, gateways, many regional providers. Null when it reads like no bounce. */
export function readTextBounce(parts: ReportParts): BounceReport | null {
  const { notice, returned } = splitNotice(parts.text)
  if (!readsLikeBounce(parts, notice)) return null
  const original = readOriginal(parts.originalHead ?? returned)
  const isDelay = delayNotice.test(parts.subject) || delayNotice.test(notice)
  const addresses = failedAddresses(parts, notice)
  const named: (string | null)[] = addresses.length > 0 ? addresses : [original.to]
  // What is said of nobody by name is said of all, and looked for once.
  let general: Told | null = null
  const tell = (address: string | null): Told => {
    const segment = address && segmentOf(address, addresses, notice)
    if (segment) return toldBy(segment, notice, isDelay)
    general ??= toldBy(paragraphsOf(notice).find(saysWhy) ?? null, notice, isDelay)
    return general
  }
  return { kind: 'bounce', recipients: named.map((address) => ({ address, ...tell(address) })), original }
}

function splitNotice(text: string): { notice: string; returned: string | null } {
  const lines = text.split('\n')
  const mark = lines.findIndex((line, index) => index > 0 && returnedMessageMark.test(line.slice(0, 200)))
  if (mark < 0) return { notice: text.slice(0, maxNoticeLetters), returned: null }
  const first = lines[mark] as string
  return {
    notice: lines.slice(0, mark).join('\n').slice(0, maxNoticeLetters),
    returned: lines.slice(/^[\w-]+: /.test(first) ? mark : mark + 1).join('\n'),
  }
}

/**
 * Marked as one by its header; or two of three: a mail system's name, a bounce's subject, words that say that something failed. One of
 * those alone is too little: postmasters write other mail, and people write about bounces.
 */
function readsLikeBounce({ headers, subject, reportType }: ReportParts, notice: string): boolean {
  if (reportType === 'delivery-status' || fieldValue(headers, 'x-failed-recipients') !== null) return true
  const hasSubject = bounceSubject.test(subject.slice(0, 200))
  if (otherAutomaticSubject.test(subject.slice(0, 200)) && !hasSubject) return false
  const isMailSystem = mailSystemSender.test(senderOf(headers))
  if (hasSubject) return isMailSystem || failurePhrase.test(notice) || saysWhy(notice)
  return isMailSystem && failurePhrase.test(notice)
}

/** With brackets off, so that patterns can begin at the local part; the name stays for those that look for it. */
function senderOf(headers: ReportParts['headers']): string {
  const from = (fieldValue(headers, 'from') ?? '').slice(0, 300)
  return `${/<([^<>]*)>/.exec(from)?.[1] ?? from} ${from}`
}

function failedAddresses({ headers }: ReportParts, notice: string): string[] {
  const told = addressesIn(fieldValue(headers, 'x-failed-recipients') ?? '')
  if (told.length > 0) return told.slice(0, maxRecipients)
  const own = new Set(
    ['from', 'to', 'reply-to', 'sender', 'return-path']
      .flatMap((name) => addressesIn(fieldValue(headers, name) ?? ''))
      .map((address) => address.toLowerCase()),
  )
  const isOther = (address: string) =>
    !own.has(address.toLowerCase()) &&
    !/^(?:postmaster|mailer-daemon|abuse|support|helpdesk|admin(?:istrator)?|info|security)@/i.test(address)
  const leading = notice.split('\n').flatMap((line) => addressesIn(leadingAddress(line.slice(0, 400))))
  const named = [...new Set(leading.filter(isOther))]
  return named.length > 0 ? named.slice(0, maxRecipients) : addressesIn(notice).filter(isOther).slice(0, 1)
}

type Told = Omit<BouncedRecipient, 'address'>

function toldBy(diagnostic: string | null, notice: string, isDelay: boolean): Told {
  const text = oneLine(fromCode(diagnostic ?? notice))
  const status = statusIn(text)
  const about = { action: isDelay ? 'delayed' : 'failed', status, diagnostic: diagnostic ? text : null } as const
  if (isDelay) return { ...about, class: 'none', reason: 'Not delivered yet; the other side keeps trying' }
  return { ...about, ...classifyFailure(status, `${text}${diagnostic ? '' : `\n${notice}`}`) }
}

/** From the line that names the recipient to where the reason is told, and no further than the next recipient. */
function segmentOf(address: string, all: string[], notice: string): string | null {
  const lines = notice.split('\n')
  const start = lines.findIndex((line) => line.includes(address))
  if (start < 0) return null
  const taken: string[] = []
  for (const line of lines.slice(start, start + maxSegmentLines)) {
    if (taken.length > 0 && all.some((other) => other !== address && line.includes(other))) break
    if (line.trim() === '' && saysWhy(taken.join('\n'))) break
    taken.push(line)
  }
  const text = taken.join('\n').replace(/^[\s>*•\-–]+/, '')
  return saysWhy(text)
    ? text.startsWith(address) || text.startsWith(`<${address}`)
      ? text.replace(/^<?[^\s<>]+?>?[:：]?\s+/, '')
      : text
    : null
}

/** The server's own answer, without the story around it. */
function fromCode(text: string): string {
  const code = /(?<=^|[\s:;(<>'"])[45][0-5]\d[ -](?=\S)/.exec(text)
  return code ? text.slice(code.index) : text
}

const paragraphsOf = (text: string) => text.split(/\n\s*\n/)

/** A code, or words that the rules know. */
function saysWhy(text: string): boolean {
  if (statusIn(text) !== null || smtpCodeIn(text) !== null) return true
  return !classifyFailure(null, text).reason.endsWith('did not say why')
}
