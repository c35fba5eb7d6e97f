import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { defineJob } from '../../jobs/jobs.ts'
import { changeContactCount, wrongContactCounts } from './contact-counter.ts'

/** So many are held against the ledger in one statement. */
const pageSize = 2_000
/** Whoever did nothing for so long has been proved as often. */
const provedForMs = 30 * 86_400_000

/**
 * Proves what contacts have opened, clicked and answered against the ledgers every night, how many a project has and how many are in each
 * group, and mends what is off. What they have received is counted from the ledgers themselves, and needs no proof.
 */
export const repairContacts = defineJob<object>({
  name: 'contacts.repair_counters',
  schedule: '30 3 * * *',
  async run({ database, clock, log }) {
    for await (const { project_id, held } of pagesOfHeld(database, new Date(clock.now().getTime() - provedForMs))) {
      for (const wrong of held.filter(isWrong)) {
        const { id: contact_id, opens, clicks, replies } = wrong
        log.warn({ contact_id, opens, clicks, replies }, 'the totals of a contact were off and are mended')
        await addTotals(database, project_id, wrong)
      }
      await settlePastReplies(database, project_id, held)
    }
    await database.transaction(async (tx) => {
      for (const { project_id, contacts } of await wrongContactCounts(tx)) {
        log.warn({ project_id, contacts }, 'the number of contacts of a project was off and is mended')
        await changeContactCount(tx, project_id, contacts)
      }
    })
    const groups = await mendGroups(database)
    if (groups > 0) log.warn({ groups }, 'the counts of contact groups were off and are mended')
  },
})

interface WrongTotals {
  project_id: ProjectId
  id: ContactId
  /** What is missing. */
  opens: number
  clicks: number
  replies: number
}

/** Of those who did something since then. Empty is the proof. */
export async function wrongTotals(database: Database, since: Date): Promise<WrongTotals[]> {
  const wrong: WrongTotals[] = []
  for await (const { project_id, held } of pagesOfHeld(database, since))
    wrong.push(...held.filter(isWrong).map(({ id, opens, clicks, replies }) => ({ project_id, id, opens, clicks, replies })))
  return wrong
}

const isWrong = ({ opens, clicks, replies }: Held): boolean => opens !== 0 || clicks !== 0 || replies !== 0

async function* pagesOfHeld(database: Database, since: Date): AsyncGenerator<{ project_id: ProjectId; held: Held[] }> {
  const projects = await database.many<{ id: ProjectId }>`select id from projects where deleted_at is null`
  for (const { id: project_id } of projects) {
    for (let after: Place | null = { at: since, id: '00000000-0000-0000-0000-000000000000' }; after; ) {
      const held: Held[] = await holdAgainstLedger(database, project_id, after)
      yield { project_id, held }
      const last = held.at(-1)
      after = last && held.length === pageSize ? { at: last.last_activity_at, id: last.id } : null
    }
  }
}

interface Place {
  at: Date
  id: string
}
interface Held extends Omit<WrongTotals, 'project_id'> {
  last_activity_at: Date
  is_past_known: boolean
}

/** One statement sees both at one moment: whatever notes a deed counts it in the same transaction. */
const holdAgainstLedger = (db: Queryable, project_id: ProjectId, { at, id }: Place) => db.many<Held>`
  select c.id, c.last_activity_at, d.opens + c.past_opens - c.total_opens as opens, d.clicks + c.past_clicks - c.total_clicks as clicks,
    coalesce(e.replies + c.past_replies - c.total_replies, 0) as replies, c.past_replies is not null as is_past_known
  from (
    select * from contacts where project_id = ${project_id} and (last_activity_at, id) > (${at}::timestamptz, ${id}::uuid)
    order by last_activity_at, id limit ${pageSize}
  ) c cross join lateral (
    select coalesce(sum(open_count), 0) as opens, coalesce(sum(click_count), 0) as clicks
    from deliveries where project_id = ${project_id} and contact_id = c.id
  ) d cross join lateral (
    select count(*) as replies from emails where project_id = ${project_id} and contact_id = c.id and is_reply and not is_automatic
  ) e
  order by c.last_activity_at, c.id`

const addTotals = (db: Queryable, project_id: ProjectId, { id, opens, clicks, replies }: Held) => db.run`
  update contacts set total_opens = total_opens + ${opens}, total_clicks = total_clicks + ${clicks}, total_replies = total_replies + ${replies}
  where project_id = ${project_id} and id = ${id}`

/**
 * Once for each who was there before past replies were kept: whatever the ledger does not have was before. They are held first, so that
 * no reply comes between the count and the total.
 */
async function settlePastReplies(database: Database, project_id: ProjectId, held: Held[]): Promise<void> {
  const ids = held.filter(({ is_past_known }) => !is_past_known).map(({ id }) => id)
  if (ids.length === 0) return
  await database.transaction(async (tx) => {
    await tx.run`
      select 1 from contacts where project_id = ${project_id} and id = any(${ids}::uuid[]) order by id for no key update`
    await tx.run`
      update contacts c set past_replies = total_replies - (
        select count(*) from emails e where e.project_id = c.project_id and e.contact_id = c.id and e.is_reply and not e.is_automatic)
      where project_id = ${project_id} and id = any(${ids}::uuid[]) and past_replies is null`
  })
}

const mendGroups = (db: Queryable) => db.run`
  update contact_groups g set contact_count = counted.count
  from (
    select g.project_id, g.id, count(m.contact_id) as count
    from contact_groups g left join contact_group_members m on m.project_id = g.project_id and m.group_id = g.id group by g.project_id, g.id
  ) counted
  where g.project_id = counted.project_id and g.id = counted.id and g.contact_count <> counted.count`
