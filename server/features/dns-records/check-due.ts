import { reasonOf } from '../../base/errors.ts'
import type { ProjectId } from '../../base/ids.ts'
import type { Services } from '../../operations/context.ts'

/** So many are looked at by one process. One whose name servers hang takes up its own place, and holds up nobody else's. */
const places = 32
/** What is left over is taken a minute later. */
const mostAtATime = 400

interface Due {
  project_id: ProjectId
  domain: string
}

/** How many may be taken, and of whom none, because theirs are under way. */
export interface Turn {
  now: Date
  limit: number
  busy: ProjectId[]
}

interface Turns<Key extends Due> {
  /** Those that are due, the longest overdue first and at most two of one project; nobody else takes them for a while. */
  claim(turn: Turn): Promise<Key[]>
  check(key: Key): Promise<unknown>
}

/** All whose turn it is. A place that is free is taken at once: no project's domains wait for those of another. */
export async function checkDue<Key extends Due>(
  { clock, log }: Pick<Services, 'clock' | 'log'>,
  { claim, check }: Turns<Key>,
): Promise<void> {
  const underWay = new Map<Promise<void>, ProjectId>()
  const begin = (key: Key) => {
    const ended = check(key)
      .catch((error: unknown) =>
        log.warn({ domain: key.domain, reason: reasonOf(error) }, 'a domain could not be checked and is looked at again'),
      )
      .then(() => {
        underWay.delete(ended)
      })
    underWay.set(ended, key.project_id)
  }
  for (let begun = 0; ; ) {
    const limit = Math.min(places - underWay.size, mostAtATime - begun)
    const due = limit > 0 ? await claim({ now: clock.now(), limit, busy: [...new Set(underWay.values())] }) : []
    for (const key of due) begin(key)
    begun += due.length
    if (underWay.size === 0) return
    await Promise.race(underWay.keys())
  }
}
