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
  | {
      kind: 'deferred'
      smtp_code: number | null
      enhanced_code: string | null
      reason: string
      detail: string
      /** The whole message was sent and its final dot not answered: the other server may have it, and a second try may repeat it. */
      isUncertain?: true
    }
  /** A permanent no (5xx) to this message, sender or recipient. */
  | { kind: 'bounced'; smtp_code: number; enhanced_code: string | null; reason: string; detail: string }

export interface AboutMessage {
  message_id: string
  subject: string
  /** No line of the message begins with a dot, and every line ends in CRLF: it is sent without a look. */
  isDotSafe?: boolean
  /** Messages of one lane wait behind one another, lanes take turns: one for each broadcast keeps single letters quick. */
  lane?: string
  /** Called the moment the other server has taken the message over, before `send` answers. What it throws, `send` throws. */
  onAccepted?: () => void
}

/** A way for mail to leave. */
export interface Transport {
  readonly name: string
  /** Hands over one message, whole or in parts, to one recipient. Never throws, but for what `onAccepted` throws. */
  send(envelope: Envelope, message: Buffer | readonly Buffer[], about: AboutMessage): Promise<Outcome>
  /** Throws with a sentence that a person can act on when mail cannot leave this way. */
  verify(): Promise<void>
  /** Waits for what is being sent, then lets go of every connection. */
  close(): Promise<void>
}
