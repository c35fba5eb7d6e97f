import type { BroadcastId } from '../../base/ids.ts'
import type { Database } from '../../database/database.ts'
import type { WarmUps } from '../warm-up.ts'
import { claimDeliveries, dueBroadcasts, duePage, type Lessee } from './claim.ts'
import type { SendingNode } from './node.ts'
import type { WaitingLine } from './waiting-line.ts'

const claimSize = 500
/** How far claims run ahead of the sockets; what comes new while that much waits is let in all the same, up to twice as much. */
export const ahead = 2_000
const mostAhead = 2 * ahead

interface Parts {
  database: Database
  warmUps: WarmUps
  waiting: WaitingLine
  node: SendingNode
}

/** Broadcasts take turns at claiming, each up to its share of what may wait: a small one does not wait until large ones are through. */
export class ClaimTurns {
  readonly #parts: Parts
  /** Whose turn was the last. */
  #after: BroadcastId | null = null
  #hasClaimed = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** A page of those that have something due. `isMore` when there may be more to claim at once. */
  async claim(lessee: Lessee, onClaimed: () => void): Promise<{ claimed: number; isMore: boolean }> {
    const { database, warmUps, waiting, node } = this.#parts
    if (this.#after === null) this.#hasClaimed = false
    const due = await dueBroadcasts(database, lessee, this.#after)
    let claimed = 0
    for (const broadcast of due) {
      if (waiting.length >= mostAhead) return { claimed, isMore: false }
      this.#after = broadcast.id
      const share = waiting.shareOf(broadcast.id, ahead)
      if (waiting.lengthOf(broadcast.id) >= share) continue
      await node.buryDead()
      const { wanted, taken } = await claimDeliveries(warmUps, broadcast, lessee, Math.min(claimSize, share))
      claimed += taken
      this.#hasClaimed ||= taken > 0
      waiting.add(wanted)
      onClaimed()
    }
    const isRoundOver = due.length < duePage
    if (isRoundOver) this.#after = null
    return { claimed, isMore: waiting.length < ahead && (!isRoundOver || this.#hasClaimed) }
  }
}
