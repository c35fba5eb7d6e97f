import type { NodemailerError } from 'nodemailer'
import type { Outcome } from './transport.ts'

type Failure = Exclude<Outcome, { kind: 'delivered' }>

/** RFC 3463 codes without their class, and what they mean to somebody who looks at one recipient. */
const reasonByEnhancedCode: Record<string, string> = {
  '1.0': 'The address was refused',
  '1.1': 'The mailbox does not exist',
  '1.2': 'The domain does not exist or takes no mail',
  '1.3': 'The address is not valid',
  '1.6': 'The mailbox has moved away',
  '1.7': 'The sender address was refused',
  '1.8': 'The sender address was refused',
  '1.10': 'The domain takes no mail',
  '2.0': 'The mailbox cannot take mail',
  '2.1': 'The mailbox is switched off',
  '2.2': 'The mailbox is full',
  '2.3': 'The message is too large for the mailbox',
  '3.4': 'The message is too large',
  '6.7': 'The receiving server cannot take addresses outside ASCII',
}

const reasonByCommand: Record<string, string> = {
  'MAIL FROM': 'The sender address was refused',
  'RCPT TO': 'The recipient was refused',
  DATA: 'The message was refused',
}

/** Permanent by their number, yet about our login or the state of the session, never about the recipient. */
const notAboutTheMessage = new Set([503, 530, 534, 535, 538])

/**
 * Postfix, Exim, Exchange and others say no with these words, and with the codes of any other no, when they do not know us. It is
 * true of every recipient at once: taken for bounces, one wrong setting would condemn a whole list.
 */
const relayingDenied =
  /\brelay(?:ing)?\b.{0,40}\b(?:denied|not (?:permitted|allowed)|prohibited)|\b(?:unable to|not (?:permitted|allowed) to) relay\b/i

const notSmtp = 'The relay gave an answer that is not SMTP'

/** The relay said yes to the final dot; a reply that only begins like one is not a yes. */
export function outcomeOfReply(response: string): Outcome {
  const code = /^(2\d\d)(?:[ -]|$)/.exec(response)?.[1]
  if (code) return { kind: 'delivered', smtp_code: Number(code), response }
  return deferred(notSmtp, response)
}

/** What an error of nodemailer means for the message. */
export function outcomeOfError(error: unknown): Failure {
  const failure: NodemailerError = error instanceof Error ? error : new Error(String(error))
  const code = failure.responseCode ?? null
  const detail = [failure.command, failure.code, failure.originalCode, failure.message].filter(Boolean).join(' ')
  if (/^Message size larger than allowed/.test(failure.message)) {
    // RFC 1870 section 6.1: the relay told its limit in advance, so the answer it would give is known.
    return { kind: 'bounced', smtp_code: 552, enhanced_code: '5.3.4', reason: 'The message is too large', detail }
  }
  const enhanced_code = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(failure.response ?? '')?.[1] ?? null
  const isAnswer = (failure.code === 'EENVELOPE' || failure.code === 'EMESSAGE') && code !== null && code >= 400 && code <= 599
  if (!isAnswer) return { kind: 'deferred', smtp_code: code, enhanced_code, reason: reasonOfFailure(failure), detail }
  if (code < 500) {
    const reason = reasonByEnhancedCode[enhanced_code?.slice(2) ?? ''] ?? 'The receiving server asks to try again later'
    return { kind: 'deferred', smtp_code: code, enhanced_code, reason, detail }
  }
  if (notAboutTheMessage.has(code) || relayingDenied.test(failure.response ?? '')) {
    return { kind: 'deferred', smtp_code: code, enhanced_code, reason: reasonOfRefusedSession(code), detail }
  }
  return { kind: 'bounced', smtp_code: code, enhanced_code, reason: reasonOfBounce(failure.command, enhanced_code), detail }
}

export const deferred = (reason: string, detail: string): Outcome => ({
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason,
  detail,
})

function reasonOfBounce(command: string | undefined, enhanced: string | null): string {
  const known = reasonByEnhancedCode[enhanced?.slice(2) ?? '']
  if (known) return known
  if (enhanced?.startsWith('5.7.')) return 'The receiving server refused the message by its policy'
  return reasonByCommand[command ?? ''] ?? 'The message was refused'
}

const reasonOfRefusedSession = (code: number) =>
  code === 503 ? 'The relay lost track of the session' : 'The relay takes no mail from us without a login; check OUTBOUND'

/** No answer to this message: something between us and the relay failed, which whoever runs Posthaste can mend. */
function reasonOfFailure(failure: NodemailerError): string {
  const cause = failure.originalCode ?? ''
  if (isAboutTls(failure, cause)) return 'The encrypted connection to the relay failed; check its certificate and the host in OUTBOUND'
  switch (failure.code) {
    case 'EAUTH':
    case 'ENOAUTH':
      return 'The relay refused the login; check the user and password in OUTBOUND'
    case 'EDNS':
      return 'The name of the relay was not found; check the host in OUTBOUND'
    case 'ETIMEDOUT':
      return failure.timeoutType === 'SOCKET_TIMEOUT'
        ? 'The relay stopped answering'
        : 'The relay did not answer in time; check host and port in OUTBOUND'
    case 'EPROTOCOL':
    case 'ECONNECTION':
      if (failure.responseCode)
        return failure.responseCode < 500 ? 'The relay asks to try again later' : 'The relay turned the connection away'
      return failure.code === 'EPROTOCOL' ? notSmtp : 'The relay closed the connection'
    case 'EENVELOPE':
    case 'EMESSAGE':
      return notSmtp
  }
  if (cause === 'ECONNREFUSED') return 'Nothing answers at the relay; check host and port in OUTBOUND'
  if (/^E(?:HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL)$/.test(cause)) return 'The relay cannot be reached from here; check the network'
  return 'The connection to the relay broke'
}

const isAboutTls = (failure: NodemailerError, cause: string) =>
  failure.code === 'ETLS' ||
  failure.timeoutType === 'UPGRADE_TIMEOUT' ||
  /^(?:ERR_SSL|ERR_TLS|EPROTO$)|CERT/.test(cause) ||
  /before secure TLS/.test(failure.message)
