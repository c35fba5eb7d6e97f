import type { EnvelopeCommand, SmtpResult } from '../smtp/job.ts'
import { enhancedCodeOf, type Reply } from '../smtp/reply.ts'
import type { SmtpError, SmtpTrouble } from '../smtp/smtp-error.ts'
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

const reasonByCommand: Record<EnvelopeCommand, string> = {
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

/** Who the other server is: a relay of ours, whose settings somebody can mend, or the recipient's own. */
export type Peer = 'relay' | 'recipient'

/** No answer to this message: something between us and the server failed. */
const reasonByTrouble: Record<Peer, Record<Exclude<SmtpTrouble, 'turned_away'>, string>> = {
  relay: {
    dns: 'The name of the relay was not found; check the host in OUTBOUND',
    private: 'The relay is not on the open internet; check the host in OUTBOUND',
    refused: 'Nothing answers at the relay; check host and port in OUTBOUND',
    unreachable: 'The relay cannot be reached from here; check the network',
    slow_start: 'The relay did not answer in time; check host and port in OUTBOUND',
    silent: 'The relay stopped answering',
    tls: 'The encrypted connection to the relay failed; check its certificate and the host in OUTBOUND',
    login: 'The relay refused the login; check the user and password in OUTBOUND',
    not_smtp: 'The relay gave an answer that is not SMTP',
    closed: 'The relay closed the connection',
    broken: 'The connection to the relay broke',
    shutdown: 'The sender is shutting down',
  },
  recipient: {
    dns: 'The mail server of the domain was not found',
    private: 'The mail server of the domain is not on the open internet',
    refused: 'Nothing answers at the mail server of the domain',
    unreachable: 'The mail server of the domain cannot be reached from here',
    slow_start: 'The receiving server did not answer in time',
    silent: 'The receiving server stopped answering',
    tls: 'The encrypted connection to the receiving server failed',
    login: 'The receiving server wants a login',
    not_smtp: 'The receiving server gave an answer that is not SMTP',
    closed: 'The receiving server closed the connection',
    broken: 'The connection to the receiving server broke',
    shutdown: 'The sender is shutting down',
  },
}

/** What came of a session means for the message. */
export function outcomeOf(result: SmtpResult, peer: Peer): Outcome {
  switch (result.kind) {
    case 'accepted':
      return { kind: 'delivered', smtp_code: result.reply.code, response: result.reply.text }
    case 'refused':
      return outcomeOfRefusal(result.command, result.reply, peer)
    case 'unfit':
      if (result.why === 'size') return bounced(552, '5.3.4', 'The message is too large', result.detail)
      return bounced(
        553,
        '5.6.7',
        `The ${peer === 'relay' ? 'relay' : 'receiving server'} cannot take addresses outside ASCII`,
        result.detail,
      )
    case 'failed':
      return outcomeOfError(result.error, peer, result.isUncertain)
  }
}

export function outcomeOfError(error: SmtpError, peer: Peer, isUncertain = false): Failure {
  const { reply, trouble } = error
  const reason = trouble === 'turned_away' ? reasonOfTurningAway(reply, peer) : reasonByTrouble[peer][trouble]
  return {
    kind: 'deferred',
    smtp_code: reply?.code ?? null,
    enhanced_code: reply && enhancedCodeOf(reply),
    reason,
    detail: isUncertain ? `${trouble}: ${error.message}; the final dot was unanswered` : `${trouble}: ${error.message}`,
    ...(isUncertain ? { isUncertain } : {}),
  }
}

function outcomeOfRefusal(command: EnvelopeCommand, reply: Reply, peer: Peer): Failure {
  const { code, text } = reply
  const enhanced_code = enhancedCodeOf(reply)
  const detail = `${command}: ${text}`
  if (code < 500) {
    const reason = reasonByEnhancedCode[enhanced_code?.slice(2) ?? ''] ?? 'The receiving server asks to try again later'
    return { kind: 'deferred', smtp_code: code, enhanced_code, reason, detail }
  }
  if (notAboutTheMessage.has(code) || (peer === 'relay' && relayingDenied.test(text))) {
    return { kind: 'deferred', smtp_code: code, enhanced_code, reason: reasonOfRefusedSession(code, peer), detail }
  }
  return bounced(code, enhanced_code, reasonOfBounce(command, enhanced_code), detail)
}

export const deferred = (reason: string, detail: string): Failure => ({
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason,
  detail,
})

export const bounced = (smtp_code: number, enhanced_code: string | null, reason: string, detail: string): Failure => ({
  kind: 'bounced',
  smtp_code,
  enhanced_code,
  reason,
  detail,
})

function reasonOfBounce(command: EnvelopeCommand, enhanced: string | null): string {
  const known = reasonByEnhancedCode[enhanced?.slice(2) ?? '']
  if (known) return known
  if (enhanced?.startsWith('5.7.')) return 'The receiving server refused the message by its policy'
  return reasonByCommand[command]
}

function reasonOfRefusedSession(code: number, peer: Peer): string {
  if (peer === 'recipient') return code === 503 ? 'The receiving server lost track of the session' : reasonByTrouble.recipient.login
  return code === 503 ? 'The relay lost track of the session' : 'The relay takes no mail from us without a login; check OUTBOUND'
}

function reasonOfTurningAway(reply: Reply | null, peer: Peer): string {
  const who = peer === 'relay' ? 'The relay' : 'The receiving server'
  return reply && reply.code < 500 ? `${who} asks to try again later` : `${who} turned the connection away`
}
