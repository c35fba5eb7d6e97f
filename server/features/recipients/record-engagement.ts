import { parseDeliveryToken } from '../../base/delivery-token.ts'
import type { DeliveryId } from '../../base/ids.ts'
import { startLoop } from '../../base/loop.ts'
import type { Database } from '../../database/database.ts'
import { whoWants } from '../../events/interests.ts'
import { type CopyEvent, publishOfRecipients } from '../../events/publish-of-recipients.ts'
import type { Services } from '../../operations/context.ts'
import { type Engagement, saveEngagement } from './engagement-queries.ts'
import type { FindProject } from './find-recipient.ts'

const everyMs = 250
const batchSize = 500
/** While the database is away. What comes after is not counted: numbers about readers are worth less than the process. */
const maxWaiting = 50_000

type Waiting = Omit<Engagement, 'project_id'> & { tail: string }

export interface EngagementRecorder {
  /** Returns at once; it is written down a moment later, together with what others did. Forged tokens count for nothing. */
  note(token: string, about: Pick<Engagement, 'link' | 'isMachine'>): void
  /** When it resolves, all that was noted is written. */
  stop(): Promise<void>
}

/** Nobody waits for a counter: who opens a mail or follows a link is answered first. A process that is killed loses a quarter of a second. */
export function startEngagementRecorder(
  { database, clock, log, secrets }: Pick<Services, 'database' | 'clock' | 'log' | 'secrets'>,
  findProject: FindProject,
): EngagementRecorder {
  const waiting: Waiting[] = []
  const writeSome = async (): Promise<boolean> => {
    const some = waiting.slice(0, batchSize)
    if (some.length === 0) return false
    const batch = await withProjects(some, findProject)
    await write(database, batch)
    // Only now: a batch that could not be written is tried again.
    waiting.splice(0, some.length)
    return waiting.length >= batchSize
  }
  const loop = startLoop({ name: 'engagement', log, everyMs, step: writeSome })
  return {
    note(token, { link, isMachine }) {
      const parsed = parseDeliveryToken(secrets, link === null ? 'open' : 'click', token)
      if (parsed?.kind !== 'delivery' || waiting.length >= maxWaiting) return
      waiting.push({ tail: parsed.project_tail.toString('hex'), id: parsed.id as DeliveryId, at: clock.now(), link, isMachine })
    },
    async stop() {
      await loop.stop()
      while (waiting.length > 0) await writeSome()
    },
  }
}

const told = ['email.opened', 'email.clicked'] as const

/** Each time that a person opens the mail or follows a link is an event, for whoever wants to hear of it; what machines do is none. */
async function write(database: Database, batch: Engagement[]): Promise<void> {
  const wanting = await whoWants(
    database,
    batch.map(({ project_id }) => project_id),
    told,
  )
  await database.transaction(async (tx) => {
    const deeds = await saveEngagement(tx, batch, [...wanting.keys()])
    const events = deeds.map(
      ({ url, ...copy }): CopyEvent<(typeof told)[number]> =>
        url === null ? { type: 'email.opened', copy } : { type: 'email.clicked', copy, url },
    )
    await publishOfRecipients(
      tx,
      events.filter(({ type, copy }) => wanting.get(copy.project_id)?.includes(type)),
    )
  })
}

async function withProjects(some: Waiting[], findProject: FindProject): Promise<Engagement[]> {
  const known = await Promise.all(some.map(async ({ tail, ...one }) => ({ ...one, project_id: await findProject(tail) })))
  return known.filter((one): one is Engagement => one.project_id !== null)
}
