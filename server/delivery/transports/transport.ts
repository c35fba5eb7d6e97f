/** What SMTP is told, as against what the header fields say. `from` may be '' (the null sender). */
export interface Envelope {
  from: string
  to: string
}

/**
 * How one attempt ended. `reason` is for people to read, `detail` is for the log: it may quote the other server and name
 * addresses. An error that nobody foresaw counts as temporary, so that nothing is lost to it.
 */
export type Outcome =
  | { kind: 'delivered'; smtp_code: number | null; response: string }
  | { kind: 'deferred'; smtp_code: number | null; enhanced_code: string | null; reason: string; detail: string }
  /** A permanent no (5xx) to this message, sender or recipient. */
  | { kind: 'bounced'; smtp_code: number; enhanced_code: string | null; reason: string; detail: string }

/** A way for mail to leave. */
export interface Transport {
  readonly name: string
  /** Hands over one message to one recipient. Never throws. */
  send(envelope: Envelope, message: Buffer, about: { message_id: string; subject: string }): Promise<Outcome>
  /** Throws with a sentence that a person can act on when mail cannot leave this way. */
  verify(): Promise<void>
  /** Waits for what is being sent, then lets go of every connection. */
  close(): Promise<void>
}
