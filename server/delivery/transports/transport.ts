import type { FailureClass } from '../../mail/reports/report.ts'

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
  | {
      kind: 'delivered'
      smtp_code: number | null
      response: string
      /** What it is called from now on, where the relay has put a Message-ID of its own in place of ours. */
      message_id?: string
    }
  | {
      kind: 'deferred'
      smtp_code: number | null
      enhanced_code: string | null
      reason: string
      detail: string
      /** The whole message was sent and its final dot not answered: the other server may have it, and a second try may repeat it. */
      isUncertain?: true
      /** The trouble is the mailbox's own: when it stays so until we give up, that counts against the address. */
      bounce_class?: 'soft'
      /** `isStillWanted` said no: nobody was asked, so it counts as no attempt. */
      isUnbegun?: true
    }
  /** A permanent no (5xx) to this message, sender or recipient: to which of them, `bounce_class` tells, judged by the server's own words. */
  | { kind: 'bounced'; smtp_code: number; enhanced_code: string | null; bounce_class: FailureClass; reason: string; detail: string }
  /** It could not be put together, for a reason that lies in it: nobody was asked. */
  | { kind: 'failed'; smtp_code: null; enhanced_code: null; reason: string; detail: string }

/** What an attempt that is the last one says of the address; null when nothing. */
export const bounceClassOf = (outcome: Outcome): FailureClass | null =>
  outcome.kind === 'bounced' || outcome.kind === 'deferred' ? (outcome.bounce_class ?? null) : null

export interface AboutMessage {
  message_id: string
  subject: string
  /** No line of the message begins with a dot, and every line ends in CRLF: it is sent without a look. */
  isDotSafe?: boolean
  /** Messages of one lane wait behind one another, lanes take turns: one for each broadcast keeps single letters quick. */
  lane?: string
  /** Called the moment the other server has taken the message over, before `send` answers. What it throws, `send` throws. */
  onAccepted?: () => void
  /** Called when the message was accepted and its octets are read no more: they may be written over. Some transports never call it. */
  onWritten?: () => void
  /**
   * Asked when the message has waited for its turn and is about to be sent; after a no it is not, and comes back as `isUnbegun`. Transports
   * where nothing waits do not ask.
   */
  isStillWanted?: () => boolean
}

/** A way for mail to leave. */
export interface Transport {
  readonly name: string
  /** Hands over one message, whole or in parts, to one recipient. Never throws, but for what `onAccepted` throws. */
  send(envelope: Envelope, message: Buffer | readonly Buffer[], about: AboutMessage): Promise<Outcome>
  /**
   * Whether a message to this domain, in A-labels, would have its turn soon. Where it would not, it had better wait outside, and let others
   * go first. Only where domains have servers of their own.
   */
  hasRoomFor?(domain: string): boolean
  /** Throws with a sentence that a person can act on when mail cannot leave this way. */
  verify(): Promise<void>
  /** Waits for what is being sent, then lets go of every connection. */
  close(): Promise<void>
}
