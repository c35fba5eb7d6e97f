import { classifyFailure, type Verdict } from '../../mail/reports/classify.ts'
import { oneLine } from '../../mail/reports/one-line.ts'
import type { EnvelopeCommand, SmtpResult } from '../smtp/job.ts'
import { enhancedCodeOf, type Reply } from '../smtp/reply.ts'
import type { SmtpError, SmtpTrouble } from '../smtp/smtp-error.ts'
import type { Outcome } from './transport.ts'

type Failure = Exclude<Outcome, { kind: 'delivered' }>
type Bounced = Extract<Outcome, { kind: 'bounced' }>

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
    case 'unwanted':
      return unbegun
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
    return {
      kind: 'deferred',
      smtp_code: code,
      enhanced_code,
      reason,
      detail,
      ...(isOfMailbox(reply, enhanced_code) ? { bounce_class: 'soft' } : {}),
    }
  }
  if (notAboutTheMessage.has(code) || (peer === 'relay' && relayingDenied.test(text))) {
    return { kind: 'deferred', smtp_code: code, enhanced_code, reason: reasonOfRefusedSession(code, peer), detail }
  }
  const verdict = verdictOf(command, reply, enhanced_code)
  return { ...bounced(code, enhanced_code, reasonOfBounce(command, reply, verdict), detail), bounce_class: verdict.class }
}

/** As reports by mail are read: on one line, without the codes that each line of a long answer repeats. Nobody says more in earnest. */
const wordsOf = ({ text }: Reply): string => oneLine(text)

/** RFC 3463 section 3.3: a mailbox that is full or locked, not a server that is busy or does not like us. */
const isOfMailbox = (reply: Reply, enhanced_code: string | null): boolean =>
  enhanced_code?.startsWith('4.2.') === true && classifyFailure(enhanced_code, wordsOf(reply)).class === 'soft'

/** The one place where an answer is judged that comes at once; those that come by mail are judged by the same rules. */
function verdictOf(command: EnvelopeCommand, reply: Reply, enhanced_code: string | null): Verdict {
  // The recipient had not been named when this was said, or was not what it is about.
  if (command === 'MAIL FROM') return { class: 'policy', reason: reasonByCommand[command] }
  return classifyFailure(enhanced_code, wordsOf(reply))
}

export const deferred = (reason: string, detail: string): Failure => ({
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason,
  detail,
})

export const unbegun: Failure = {
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason: 'It was held back before it was sent',
  detail: 'no longer wanted when its turn had come',
  isUnbegun: true,
}

/** Of our own knowledge, so the code says it all. */
export const bounced = (smtp_code: number, enhanced_code: string | null, reason: string, detail: string): Bounced => ({
  kind: 'bounced',
  smtp_code,
  enhanced_code,
  bounce_class: classifyFailure(enhanced_code, String(smtp_code)).class,
  reason,
  detail,
})

/** Where the words say something else than the number, they do so for people as well. */
function reasonOfBounce(command: EnvelopeCommand, reply: Reply, verdict: Verdict): string {
  const enhanced = enhancedCodeOf(reply)
  if (command !== 'MAIL FROM' && verdict.class !== classifyFailure(enhanced, String(reply.code)).class) return verdict.reason
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
