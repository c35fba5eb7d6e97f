import type { BroadcastId, ProjectId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Database, Queryable } from '../../database/database.ts'

const chunk = 10_000

interface Key {
  project_id: ProjectId
  id: BroadcastId
}

/** The deliveries of broadcasts that ended so many days ago. Their counts stay with the broadcast. */
export async function pruneDeliveries(database: Database, { now, days }: { now: Date; days: number }): Promise<void> {
  const before = new Date(now.getTime() - days * 86_400_000)
  const old = await database.many<Key>`
    select project_id, id from broadcasts
    where pruned_at is null and finished_at < ${before} and status in ('done', 'aborted') and reservation_id is null`
  for (const { project_id, id } of old) {
    // A chunk at a time: a million rows in one transaction would hold up every event consumer.
    for (let removed = chunk; removed === chunk; ) {
      removed = await database.run`
        delete from deliveries where project_id = ${project_id} and id in (
          select id from deliveries where project_id = ${project_id} and broadcast_id = ${id} limit ${chunk})`
    }
    await database.run`update broadcasts set pruned_at = ${now} where project_id = ${project_id} and id = ${id}`
  }
}

const counters = ['delivered', 'bounced', 'failed', 'complained', 'opened', 'clicked'] as const
type Counts = Record<(typeof counters)[number], number>

/** After a month nothing changes a broadcast any more, and it was proved thirty times. */
const provedForMs = 30 * 86_400_000

/** Proves the counts of the broadcasts that may still change against the ledger, and mends what is off. */
export async function repairBroadcastCounts(database: Database, log: Log, now: Date): Promise<void> {
  const recent = await database.many<Key>`
    select project_id, id from broadcasts
    where pruned_at is null and (finished_at is null or finished_at > ${new Date(now.getTime() - provedForMs)})`
  for (const key of recent) {
    const difference = await differenceOf(database, key)
    if (!difference || counters.every((name) => difference[name] === 0)) continue
    log.warn({ broadcast_id: key.id, difference }, 'the counts of a broadcast were off and are mended')
    await add(database, key, difference)
  }
}

/** One statement, so that both are seen at one moment: whatever settles a delivery counts it in the same transaction. */
const differenceOf = (db: Queryable, { project_id, id }: Key) => db.first<Counts>`
  select counted.delivered - b.delivered as delivered, counted.bounced - b.bounced as bounced, counted.failed - b.failed as failed,
    counted.complained - b.complained as complained, counted.opened - b.opened as opened, counted.clicked - b.clicked as clicked
  from broadcasts b, (
    select count(*) filter (where status = 'delivered') as delivered, count(*) filter (where status = 'bounced') as bounced,
      count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'complained') as complained,
      count(*) filter (where open_count > 0) as opened, count(*) filter (where click_count > 0) as clicked
    from deliveries where project_id = ${project_id} and broadcast_id = ${id}
  ) counted
  where b.project_id = ${project_id} and b.id = ${id}`

const add = (db: Queryable, { project_id, id }: Key, difference: Counts) => db.run`
  update broadcasts set delivered = delivered + ${difference.delivered}, bounced = bounced + ${difference.bounced},
    failed = failed + ${difference.failed}, complained = complained + ${difference.complained}, opened = opened + ${difference.opened},
    clicked = clicked + ${difference.clicked}
  where project_id = ${project_id} and id = ${id}`
