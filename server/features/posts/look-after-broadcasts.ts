import { type Loop, startLoop } from '../../base/loop.ts'
import type { Services } from '../../operations/context.ts'
import { notifyOwner } from '../identity/index.ts'
import { pageUnreleased, releaseUnused } from '../usage/index.ts'
import { markOwnerTold, pageTripped, type TrippedRow } from './post-queries.ts'

const batch = 50
const lookEveryMs = 1_000

/** What a broadcast leaves to be done by those who know of money and people: the engine knows of neither. */
export const startLookingAfterBroadcasts = (services: Services): Loop =>
  startLoop({ name: 'broadcasts', log: services.log, everyMs: lookEveryMs, step: () => lookAfterBroadcasts(services) })

/** True when there may be more. */
export async function lookAfterBroadcasts(services: Services): Promise<boolean> {
  const { database, log } = services
  const over = await pageUnreleased(database, batch)
  const tripped = await pageTripped(database, batch)
  const work = [
    ...over.map((key) => () => database.transaction((tx) => releaseUnused(tx, key))),
    ...tripped.map((broadcast) => () => tellOwner(services, broadcast)),
  ]
  let failed = 0
  for (const piece of work) {
    // One that fails for a reason that nobody thought of holds up no other, and is tried again.
    await piece().catch((error: unknown) => {
      failed++
      log.warn({ reason: (error as Error).message }, 'what a broadcast has left to do could not be done yet')
    })
  }
  return failed === 0 && (over.length === batch || tripped.length === batch)
}

/** Once for each time that it was paused. An agent that nobody has claimed has nobody to tell. */
const tellOwner = (services: Services, { subject, reason, ...key }: TrippedRow): Promise<void> =>
  services.database.transaction(async (tx) => {
    if (!(await markOwnerTold(tx, key))) return
    await notifyOwner(services, tx, {
      project_id: key.project_id,
      kind: 'post_paused',
      pace: 'once',
      subject: 'A post was paused while it was being sent',
      parts: [
        `“${subject}” is held back: whoever has it keeps it, and nobody else gets it for now.`,
        reason,
        'Nothing is lost. Look at its deliveries, mend what is wrong, and resume it; or abort it.',
      ],
    })
  })
