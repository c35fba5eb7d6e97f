import type { PassingMap } from '../base/passing-map.ts'
import { createSenderCounts, type SenderCounts, type Senders } from './senders.ts'
import type { ClaimedMessage } from './spool-queries.ts'

/** What this process has in hand at one time. A message larger than that comes alone. */
export const maxInHand = { messages: 500, bytes: 48 * 1024 * 1024 }
/** Of one sender, of what has been in hand for longer than usual: the rest of theirs waits in the spool, and that of others does not. */
export const maxSlow = { messages: 100, afterMs: 2_000 }

export interface InHand {
  message: ClaimedMessage
  /** Where its bytes lie, if that is to be used again. */
  place: Buffer | null
  senders: Senders
  since: number
}

export function slowSendersAmong(inHand: PassingMap<string, InHand>): SenderCounts {
  const counts = createSenderCounts()
  const before = performance.now() - maxSlow.afterMs
  // In the order they came into hand.
  for (const { since, senders } of inHand.values()) {
    if (since > before) break
    counts.add(senders)
  }
  return counts
}
