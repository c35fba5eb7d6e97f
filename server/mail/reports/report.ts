/** What a mail system, or a person through one, tells us about a message of ours. */
export type Report = BounceReport | Complaint

export interface BounceReport {
  kind: 'bounce'
  recipients: BouncedRecipient[]
  original: OriginalMessage
}

export interface BouncedRecipient {
  /** As we wrote to it where that is told, else where the message ended up; null when the report names nobody. */
  address: string | null
  action: BounceAction
  /** RFC 3463, such as 5.1.1. */
  status: string | null
  /** The other server's own words on one line. */
  diagnostic: string | null
  class: BounceClass
  /** Why, in words for people. */
  reason: string
}

/** RFC 3464 section 2.3.3. */
export type BounceAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/**
 * hard: the address is dead. soft: it may work another day. policy: the receiver refused the sender or the message, which says nothing
 * of the address. none: nothing has failed (yet).
 */
export type BounceClass = FailureClass | 'none'
export type FailureClass = 'hard' | 'soft' | 'policy'

export interface Complaint {
  kind: 'complaint'
  /** RFC 5965 section 7.3, lower-case: abuse, fraud, virus, other, opt-out, … */
  feedback_type: string
  /** Null when the provider hides who complained; then the token in `original` tells. */
  address: string | null
  original: OriginalMessage
  user_agent: string | null
  source_ip: string | null
}

/** What is known of the message that the report is about. */
export interface OriginalMessage {
  /** Without the angle brackets. */
  message_id: string | null
  to: string | null
  /** Those that can tell which message it was (return-path, list-*, feedback-id, x-…), by their lower-case names. */
  headers: Record<string, string>
}
