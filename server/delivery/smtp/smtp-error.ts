import type { Reply } from './reply.ts'

/** Why a session failed, beside what it said about a message. Who shows it to people finds the words (transports/smtp-outcome.ts). */
export type SmtpTrouble =
  /** The name of the host was not found. */
  | 'dns'
  /** The name leads to this machine or its network, where mail for strangers has no business. */
  | 'private'
  /** Nothing listens there. */
  | 'refused'
  | 'unreachable'
  /** No connection, or no greeting, in time. */
  | 'slow_start'
  /** No answer in the middle of a session. */
  | 'silent'
  | 'tls'
  | 'login'
  /** A greeting or an answer to EHLO that is a no; `reply` has it. */
  | 'turned_away'
  | 'not_smtp'
  | 'closed'
  | 'broken'
  | 'shutdown'

export class SmtpError extends Error {
  readonly trouble: SmtpTrouble
  readonly reply: Reply | null

  constructor(trouble: SmtpTrouble, message: string, reply: Reply | null = null) {
    super(message)
    this.trouble = trouble
    this.reply = reply
  }
}

/** What an error of a socket means. */
export function errorOfSocket(error: NodeJS.ErrnoException): SmtpError {
  // When every address of a host was tried, the errors come in one, which has no words of its own.
  const all = error instanceof AggregateError ? (error.errors as NodeJS.ErrnoException[]) : [error]
  const code = all[0]?.code ?? error.code ?? ''
  const text = all.map(({ message }) => message).join('; ')
  return new SmtpError(troubleOf(code, text), text.includes(code) ? text : `${code} ${text}`)
}

function troubleOf(code: string, text: string): SmtpTrouble {
  if (code === privateAddress) return 'private'
  if (code === 'ECONNREFUSED') return 'refused'
  if (/^E(?:HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL)$/.test(code)) return 'unreachable'
  if (code === 'ETIMEDOUT') return 'slow_start'
  if (/^(?:ENOTFOUND|ENODATA|EAI_\w+|ESERVFAIL|ETIMEOUT|EREFUSED)$/.test(code)) return 'dns'
  if (/^(?:ERR_SSL|ERR_TLS|EPROTO$)|CERT|ISSUER|CRL/.test(code) || /before secure TLS/.test(text)) return 'tls'
  return 'broken'
}

/** The code of the error that a guarded look-up gives. */
export const privateAddress = 'EPRIVATE'
