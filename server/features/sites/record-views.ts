import { createHmac, hash, randomBytes } from 'node:crypto'
import type { PostId } from '../../base/ids.ts'
import { startLoop } from '../../base/loop.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { whoWants } from '../../events/interests.ts'
import { publishEach } from '../../events/publish.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { findPostHeads, type PostKey, postEventData } from '../posts/index.ts'

const everyMs = 250
const batchSize = 500
/** While the database is away. What comes after is not counted: numbers about readers are worth less than the process. */
const maxWaiting = 20_000
/** Who has looked lately, in memory alone: reloading a page asks the database nothing. */
const maxSeen = 10_000
/** From one network address, of one post, on one day: a school is fine, a script that changes its name is not. */
const maxFromOnePlace = 50
const forgetSeenMs = 60_000
const dayMs = 24 * 3_600_000

export interface Visitor {
  /** Where they are, and with which browser. */
  peer: string
  agent: string
}

/** For a moment in memory, and there as digests already: what a browser says of itself may be long. */
interface View extends PostKey {
  visitor: string
  peer: string
  at: Date
}

export interface ViewRecorder {
  /**
   * Returns at once; what it means is written down a moment later, together with what others saw. Whether it is a person is asked of those
   * who have not just looked.
   */
  note(post: PostKey, visitor: Visitor, isPerson: () => boolean): void
  /** When it resolves, all that was noted is written. */
  stop(): Promise<void>
}

/**
 * Counts who reads a post on the site, once a day each. Nobody waits for it. Who it was is a hash with a salt that lives for that day: what is
 * kept tells no two days of a visitor apart from two visitors, and goes when the day is over.
 */
export function startViewRecorder({ database, clock, log }: Pick<Services, 'database' | 'clock' | 'log'>): ViewRecorder {
  const waiting: View[] = []
  let seen = new Set<string>()
  let places = new Map<string, number>()
  const forget = () => {
    seen = new Set()
    places = new Map()
  }
  const writeSome = async (): Promise<boolean> => {
    const some = waiting.slice(0, batchSize)
    if (some.length === 0) return false
    await writeViews(database, some)
    // Only now: a batch that could not be written is tried again.
    waiting.splice(0, some.length)
    return waiting.length >= batchSize
  }
  const loop = startLoop({ name: 'views', log, everyMs, step: writeSome })
  const forgetting = setInterval(forget, forgetSeenMs)
  forgetting.unref()
  return {
    note(post, { peer, agent }, isPerson) {
      const at = clock.now()
      const day = Math.floor(at.getTime() / dayMs)
      const visitor = digestOf(`${peer} ${agent}`)
      const look = `${post.post_id} ${day} ${visitor}`
      if (seen.has(look) || !isPerson()) return
      const place = `${post.post_id} ${day} ${peer}`
      const fromThere = places.get(place) ?? 0
      if (fromThere >= maxFromOnePlace) return
      if (seen.size >= maxSeen) forget()
      seen.add(look)
      places.set(place, fromThere + 1)
      if (waiting.length < maxWaiting) waiting.push({ ...post, visitor, peer: digestOf(peer), at })
    },
    async stop() {
      clearInterval(forgetting)
      await loop.stop()
      while (waiting.length > 0) await writeSome()
    },
  }
}

const digestOf = (text: string): string => hash('sha256', text, 'base64url')

export const dayOf = (at: Date): string => at.toISOString().slice(0, 10)

async function writeViews(database: Database, views: View[]): Promise<void> {
  const wanting = await whoWants(
    database,
    views.map(({ project_id }) => project_id),
    ['post.viewed'],
  )
  for (const [day, ofDay] of Map.groupBy(views, ({ at }) => dayOf(at))) {
    const salt = await saltOf(database, day)
    const hashed = (text: string) => hashOf(salt, text).toString('hex')
    const rows = ofDay.map(({ visitor, peer, at: _, ...key }) => ({ ...key, visitor: hashed(visitor), peer: hashed(peer) }))
    await database.transaction(async (tx) => {
      const seen = await insertViews(tx, day, rows)
      const told = seen.filter(({ project_id }) => wanting.has(project_id))
      const heads = new Map((await findPostHeads(tx, told)).map((head) => [head.id, head]))
      await publishEach(
        tx,
        told.flatMap(({ project_id, post_id }) => {
          const head = heads.get(post_id)
          return head ? [{ project_id, type: 'post.viewed' as const, data: postEventData(head) }] : []
        }),
      )
    })
  }
}

/** 16 bytes: two visitors of one day do not meet. */
export const hashOf = (salt: Buffer, visitor: string): Buffer => createHmac('sha256', salt).update(visitor).digest().subarray(0, 16)

/** One for all processes: the first that needs it makes it. */
export async function saltOf(db: Queryable, day: string): Promise<Buffer> {
  await db.run`insert into visitor_salts (day, salt) values (${day}, ${randomBytes(32)}) on conflict do nothing`
  const row = await db.first<{ salt: Buffer }>`select salt from visitor_salts where day = ${day}`
  return row!.salt // inserted above, by us or by another
}

interface ViewRow extends PostKey {
  visitor: string
  peer: string
}

/** Those that are new today, and not too many from one place. A post that was removed meanwhile is not seen any more. */
const insertViews = (tx: Transaction, day: string, rows: ViewRow[]) => tx.many<PostKey & { post_id: PostId }>`
  with looks as (
    select distinct v.project_id, v.list_id, v.post_id, decode(v.visitor, 'hex') as visitor, decode(v.peer, 'hex') as peer
    from json_to_recordset(${JSON.stringify(rows)}) as v (project_id uuid, list_id uuid, post_id uuid, visitor text, peer text)
  ), fresh as (
    select v.*, row_number() over (partition by v.project_id, v.list_id, v.post_id, v.peer order by v.visitor) as nth
    from looks v join posts p on p.project_id = v.project_id and p.list_id = v.list_id and p.id = v.post_id
    where not exists (
      select 1 from post_views k
      where k.project_id = v.project_id and k.list_id = v.list_id and k.post_id = v.post_id and k.day = ${day}::date and k.visitor = v.visitor)
  )
  insert into post_views (project_id, list_id, post_id, day, visitor, peer)
  select v.project_id, v.list_id, v.post_id, ${day}::date, v.visitor, v.peer from fresh v
  where v.nth + (
    select count(*) from post_views k
    where k.project_id = v.project_id and k.list_id = v.list_id and k.post_id = v.post_id and k.day = ${day}::date and k.peer = v.peer
  ) <= ${maxFromOnePlace}
  on conflict do nothing returning project_id, list_id, post_id`

/** When a day is over; in its last minutes some may have been on their way to be written. */
export const forgetVisitors = defineJob<object>({
  name: 'sites.forget_visitors',
  schedule: '7 * * * *',
  async run({ database, clock }) {
    const today = dayOf(new Date(clock.now().getTime() - 5 * 60_000))
    await database.run`delete from post_views where day < ${today}`
    await database.run`delete from post_likes where day < ${today}`
    await database.run`delete from visitor_salts where day < ${today}`
  },
})
