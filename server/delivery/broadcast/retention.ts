import { reasonOf } from '../../base/errors.ts'
import type { BroadcastId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'

const chunk = 10_000
const beforeAll = '00000000-0000-0000-0000-000000000000'

interface Key {
  project_id: ProjectId
  id: BroadcastId
}

interface Night {
  database: Database
  log: Log
  now: Date
}

/**
 * The deliveries of broadcasts that ended so many days ago. Their counts stay with the broadcast, and from its mark on nobody holds them
 * against the deliveries: an end in the middle of the removal falsifies nothing, and the next night goes on with it.
 */
export async function pruneDeliveries(night: Night, days: number): Promise<void> {
  const { database, now } = night
  await database.run`
    update broadcasts set pruned_at = ${now}
    where pruned_at is null and finished_at < ${new Date(now.getTime() - days * 86_400_000)} and status in ('done', 'aborted') and reservation_id is null`
  const left = await database.many<Key>`
    select project_id, id from broadcasts b where pruned_at is not null and exists (
      select 1 from deliveries d where d.project_id = b.project_id and d.broadcast_id = b.id)`
  await ofEach(night, left, async (key) => {
    // A chunk at a time: a million rows in one transaction would hold up every event consumer.
    while ((await database.transaction((tx) => removeDeliveries(tx, key, chunk))) === chunk);
  })
}

/** So many deliveries of a broadcast, and how many went. What they count for people stays with the people. */
export async function removeDeliveries(tx: Transaction, { project_id, id }: Key, most: number): Promise<number> {
  const gone = await tx.first<{ count: number }>`
    with gone as (
      delete from deliveries where project_id = ${project_id} and id in (
        select id from deliveries where project_id = ${project_id} and broadcast_id = ${id} limit ${most})
      returning contact_id, status, open_count, click_count
    ), forgotten as (
      select contact_id, count(*) filter (where status in ('delivered', 'complained')) as received, sum(open_count) as opens, sum(click_count) as clicks
      from gone group by contact_id
    ), held as (
      select c.id from contacts c join forgotten f on f.contact_id = c.id
      where c.project_id = ${project_id} and f.received + f.opens + f.clicks > 0 order by c.id for no key update of c
    ), kept as (
      update contacts c set total_received = c.total_received + f.received, past_opens = c.past_opens + f.opens, past_clicks = c.past_clicks + f.clicks
      from forgotten f join held on held.id = f.contact_id
      where c.project_id = ${project_id} and c.id = held.id
    )
    select count(*) as count from gone`
  return gone?.count ?? 0
}

/** One that fails holds up no other: it is told, and fails the whole when all have had their turn. */
async function ofEach({ log }: Night, keys: Key[], work: (key: Key) => Promise<void>): Promise<void> {
  let failed = 0
  for (const key of keys)
    await work(key).catch((error: unknown) => {
      failed++
      log.error({ broadcast_id: key.id, reason: reasonOf(error) }, 'the ledger of a broadcast could not be looked after')
    })
  if (failed > 0) throw new Error(`The ledgers of ${failed} of ${keys.length} broadcasts could not be looked after; the log names them`)
}

const counters = ['delivered', 'bounced', 'failed', 'complained', 'opened', 'clicked', 'unsubscribed'] as const
type Counts = Record<(typeof counters)[number], number>
/** How many people have followed each link, by its number. */
type Links = Record<string, number>

/** After a month nothing changes a broadcast any more, and it was proved thirty times. */
const provedForMs = 30 * 86_400_000
/** So many are counted in one statement: a million might take longer than a statement may. */
const countedAtOnce = 100_000

/** Proves the counts of the broadcasts that may still change against the ledger, and mends what is off. */
export async function repairBroadcastCounts(night: Night): Promise<void> {
  const { database, log, now } = night
  const recent = await database.many<Key>`
    select project_id, id from broadcasts
    where pruned_at is null and (finished_at is null or finished_at > ${new Date(now.getTime() - provedForMs)})`
  await ofEach(night, recent, async (key) => {
    const { counts: difference, links } = await differenceOf(database, key)
    if (counters.some((name) => difference[name] !== 0)) {
      log.warn({ broadcast_id: key.id, difference }, 'the counts of a broadcast were off and are mended')
      await add(database, key, difference)
    }
    if (Object.keys(links).length > 0) {
      log.warn({ broadcast_id: key.id, links }, 'how many people followed the links of a broadcast was off and is mended')
      await addToLinks(database, key, links)
    }
  })
}

/** One snapshot, so that both are seen at one moment: whatever settles a delivery counts it in the same transaction. */
const differenceOf = (database: Database, key: Key): Promise<{ counts: Counts; links: Links }> =>
  database.transaction(
    async (tx) => {
      const difference: Counts = { delivered: 0, bounced: 0, failed: 0, complained: 0, opened: 0, clicked: 0, unsubscribed: 0 }
      const links: Links = {}
      const kept = await findCounts(tx, key)
      // Moved to another project in the moment between: the next night finds it there.
      if (!kept) return { counts: difference, links }
      for (const name of counters) difference[name] -= kept[name]
      for (const { number, unique_clicks } of await findLinks(tx, key)) links[number] = -unique_clicks
      for (let after: string | null = beforeAll; after !== null; ) {
        const page: Page = await countPage(tx, key, after)
        for (const name of counters) difference[name] += page[name]
        for (const [number, people] of Object.entries(page.links ?? {})) links[number] = (links[number] ?? 0) + people
        after = page.seen === countedAtOnce ? page.last : null
      }
      return { counts: difference, links: Object.fromEntries(Object.entries(links).filter(([, people]) => people !== 0)) }
    },
    { snapshot: true },
  )

const findCounts = (db: Queryable, { project_id, id }: Key) => db.first<Counts>`
  select delivered, bounced, failed, complained, opened, clicked, unsubscribed from broadcasts where project_id = ${project_id} and id = ${id}`

const findLinks = (db: Queryable, { project_id, id }: Key) => db.many<{ number: number; unique_clicks: number }>`
  select number, unique_clicks from broadcast_links where project_id = ${project_id} and broadcast_id = ${id}`

interface Page extends Counts {
  seen: number
  last: SubscriberId | null
  links: Links | null
}

const countPage = async (db: Queryable, { project_id, id }: Key, after: string): Promise<Page> =>
  (await db.first<Page>`
    with page as materialized (
      select subscriber_id, status, open_count, click_count, clicked_links, unsubscribed_at from deliveries
      where project_id = ${project_id} and broadcast_id = ${id} and subscriber_id > ${after} order by subscriber_id limit ${countedAtOnce})
    select count(*) as seen, (select subscriber_id from page order by subscriber_id desc limit 1) as last,
      count(*) filter (where status = 'delivered') as delivered, count(*) filter (where status = 'bounced') as bounced,
      count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'complained') as complained,
      count(*) filter (where open_count > 0) as opened, count(*) filter (where click_count > 0) as clicked, count(unsubscribed_at) as unsubscribed,
      (select json_object_agg(number, people) from (
        select number, count(*) as people from page cross join unnest(clicked_links) as number group by number) followed) as links
    from page`) as Page // counting always answers

const add = (db: Queryable, { project_id, id }: Key, difference: Counts) => db.run`
  update broadcasts set delivered = delivered + ${difference.delivered}, bounced = bounced + ${difference.bounced},
    failed = failed + ${difference.failed}, complained = complained + ${difference.complained}, opened = opened + ${difference.opened},
    clicked = clicked + ${difference.clicked}, unsubscribed = unsubscribed + ${difference.unsubscribed}
  where project_id = ${project_id} and id = ${id}`

const addToLinks = (db: Queryable, { project_id, id }: Key, links: Links) => db.run`
  update broadcast_links l set unique_clicks = l.unique_clicks + d.people
  from unnest(${Object.keys(links).map(Number)}::smallint[], ${Object.values(links)}::bigint[]) as d (number, people)
  where l.project_id = ${project_id} and l.broadcast_id = ${id} and l.number = d.number`
