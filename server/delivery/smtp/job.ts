import { isAscii } from 'node:buffer'
import { domainToASCII } from 'node:url'
import type { Reply } from './reply.ts'
import type { SmtpError } from './smtp-error.ts'

export type EnvelopeCommand = 'MAIL FROM' | 'RCPT TO' | 'DATA'

/** How one message fared in a session. */
export type SmtpResult =
  /** Not written: the server said yes before the last octet was on its way to it. */
  | { kind: 'accepted'; reply: Reply; isWritten: boolean }
  | { kind: 'refused'; command: EnvelopeCommand; reply: Reply }
  /** The server told in advance that it would refuse, so it was not asked. */
  | { kind: 'unfit'; why: 'size' | 'smtputf8'; detail: string }
  /** Nobody said anything about this message. Uncertain: its final dot was sent and not answered, so the server may have it. */
  | { kind: 'failed'; error: SmtpError; isUncertain: boolean }
  /** Its turn had come and nobody wanted it to be sent any more: not a word of it was said to a server. */
  | { kind: 'unwanted' }

/** One message to one recipient, on its way through a pool. */
export interface SmtpJob {
  readonly lane: string
  readonly from: string
  readonly to: string
  readonly parts: readonly Buffer[]
  readonly size: number
  readonly isDotSafe: boolean
  readonly is8Bit: boolean
  readonly needsUnicode: boolean
  /** How often a connection was lost under it before its transfer began. */
  losses: number
  /** Asked when its turn has come. */
  readonly isStillWanted: (() => boolean) | undefined
  /** Called once, with an accepted reply as soon as it is read. */
  settle(result: SmtpResult): void
}

export interface JobOptions {
  from: string
  to: string
  message: Buffer | readonly Buffer[]
  lane?: string | undefined
  isDotSafe?: boolean | undefined
  isStillWanted?: (() => boolean) | undefined
}

export function createJob(options: JobOptions, settle: SmtpJob['settle']): SmtpJob {
  const { from, to, message, lane = '', isDotSafe = false, isStillWanted } = options
  const parts = Buffer.isBuffer(message) ? [message] : message
  let size = 0
  let is8Bit = false
  for (const part of parts) {
    size += part.length
    is8Bit ||= !isAscii(part)
  }
  const [sender, recipient] = [withAsciiDomain(from), withAsciiDomain(to)]
  const needsUnicode = !isPlain(sender) || !isPlain(recipient)
  return { lane, from: sender, to: recipient, parts, size, isDotSafe, is8Bit, needsUnicode, losses: 0, isStillWanted, settle }
}

/** An IDN domain travels in A-labels, which every server takes (RFC 5890); only a local part outside ASCII needs SMTPUTF8. */
function withAsciiDomain(address: string): string {
  if (isPlain(address)) return address
  const at = address.lastIndexOf('@') + 1
  return address.slice(0, at) + (domainToASCII(address.slice(at)) || address.slice(at))
}

const isPlain = (text: string) => !/[^\0-\x7f]/.test(text)

/** No character that could end the path or the command line. Addresses are parsed before, so this only guards the wire. */
export const isSafePath = (address: string) => !/[\0-\x20\x7f<>]/.test(address)
