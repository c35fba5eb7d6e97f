import type { LookupFunction } from 'node:net'

export const authMechanisms = ['PLAIN', 'LOGIN', 'OAUTHBEARER', 'XOAUTH2'] as const
export type AuthMechanism = (typeof authMechanisms)[number]

export interface Login {
  user: string
  /** For OAUTHBEARER and XOAUTH2 this is the token. */
  password: string
}

/** Where a server is and how it is spoken to. */
export interface Endpoint {
  host: string
  port: number
  /**
   * implicit: TLS from the first byte, the certificate must verify. required: the same after STARTTLS. opportunistic: STARTTLS when
   * offered, whatever the certificate (RFC 7435). never: clear text.
   */
  tls: 'implicit' | 'required' | 'opportunistic' | 'never'
  login: Login | null
  /** Null: whichever the server offers, the first of `authMechanisms`. */
  mechanism: AuthMechanism | null
  /** What we call ourselves in EHLO. */
  name: string
  /** Null: as the system looks names up. */
  lookup: LookupFunction | null
}

export interface SmtpLimits {
  connect_ms: number
  greeting_ms: number
  /** Silence in the middle of a session. */
  socket_ms: number
  /** Silence after the final dot, while the server may be filing the message: RFC 5321 section 4.5.3.2.6 asks for ten minutes. */
  dot_ms: number
  /**
   * From the first word of a message, or of a session, to its end. Every octet breaks a silence: whoever reads or answers one now and
   * then would never be out of time.
   */
  message_ms: number
  /** How long a connection is kept with nothing to send. */
  idle_ms: number
  max_connections: number
  /** How many messages go over one connection before it is replaced. */
  max_messages: number
  /** How long a host that cannot be reached is left alone at most. */
  longest_rest_ms: number
  /** Messages a second; null for no limit. */
  rate: number | null
}

export const defaultSmtpLimits = {
  connect_ms: 10_000,
  greeting_ms: 10_000,
  socket_ms: 60_000,
  message_ms: 900_000,
  idle_ms: 30_000,
  max_connections: 5,
  max_messages: 500,
  longest_rest_ms: 10_000,
  rate: null,
} satisfies Omit<SmtpLimits, 'dot_ms'>

export const withDefaults = (limits: Partial<SmtpLimits>): SmtpLimits => {
  const known = { ...defaultSmtpLimits, ...limits }
  return { ...known, dot_ms: limits.dot_ms ?? 10 * known.socket_ms }
}
