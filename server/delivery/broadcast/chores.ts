import type { BroadcastId } from '../../base/ids.ts'
import { type Loop, startLoop } from '../../base/loop.ts'
import { expandOne } from './expand.ts'
import type { BroadcastSender } from './send-broadcasts.ts'
import { closeAborted, finishBroadcasts } from './settle.ts'

/** What no socket waits for, beside the stream: in turns with the claims, each chunk of five thousand new deliveries would hold them up. */
export function startChores({ database, clock, log, node }: BroadcastSender, everyMs: number, onExpanded: () => void): Loop {
  let expanded: BroadcastId | null = null
  return startLoop({
    name: 'broadcast chores',
    log,
    on: 'broadcasts',
    everyMs,
    step: async () => {
      expanded = await expandOne(database, expanded)
      if (expanded) onExpanded()
      await node.buryDead()
      const isClosed = await closeAborted(database, clock.now())
      // Now and then, whatever else is under way: one broadcast does not wait for the end of another.
      await finishBroadcasts(database)
      return expanded !== null || isClosed
    },
  })
}
