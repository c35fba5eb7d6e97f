import type { SubscriberId } from '../../base/ids.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { discount, enterLine } from './line.ts'
import { lockLine } from './line-queries.ts'
import { recount } from './recount.ts'
import type { EntryRow, LineKey } from './waiting-line.ts'

const chunk = 1_000
const unconfirmedMs = 14 * 24 * 3_600_000

type Gone = Pick<EntryRow, 'status' | 'place' | 'is_confirmed'>

/** Who has not confirmed for two weeks leaves the line. Should they confirm later, they stand at its end. */
export async function dropUnconfirmed(database: Database, now: Date): Promise<void> {
  const before = new Date(now.getTime() - unconfirmedMs)
  for (const key of await database.many<LineKey>`
    select distinct project_id, list_id from waitlist_entries where status = 'waiting' and not is_confirmed and joined_at < ${before}`)
    await inChunks(
      database,
      key,
      (tx) => tx.many<Gone>`
      delete from waitlist_entries where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id in (
        select subscriber_id from waitlist_entries
        where project_id = ${key.project_id} and list_id = ${key.list_id} and status = 'waiting' and not is_confirmed and joined_at < ${before}
        limit ${chunk})
      returning status, place, is_confirmed`,
    )
}

async function inChunks(database: Database, key: LineKey, remove: (tx: Transaction) => Promise<Gone[]>): Promise<void> {
  for (let removed = chunk; removed === chunk; )
    removed = await database.transaction(async (tx) => {
      await lockLine(tx, key)
      const gone = await remove(tx)
      await discount(tx, key, gone)
      return gone.length
    })
}

/**
 * Holds the lines against the subscribers: a release that knew nothing of lines may have run beside this one. Who left stands in no line,
 * who is there stands in it, and every count is made anew.
 */
export async function repairLine(database: Database, key: LineKey, now: Date): Promise<void> {
  await inChunks(
    database,
    key,
    (tx) => tx.many<Gone>`
    delete from waitlist_entries where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id in (
      select e.subscriber_id from waitlist_entries e left join subscribers s
        on s.project_id = e.project_id and s.list_id = e.list_id and s.id = e.subscriber_id
      where e.project_id = ${key.project_id} and e.list_id = ${key.list_id}
        and (s.id is null or e.status = 'waiting' and s.status not in ('active', 'pending'))
      limit ${chunk})
    returning status, place, is_confirmed`,
  )
  await database.transaction((tx) => markThoseWhoLeft(tx, key))
  const missing = await database.many<{ subscriber_id: SubscriberId; is_confirmed: boolean }>`
    select s.id as subscriber_id, s.status = 'active' as is_confirmed from subscribers s
    where s.project_id = ${key.project_id} and s.list_id = ${key.list_id}
      and (s.status = 'active' or s.status = 'pending' and s.created_at > ${new Date(now.getTime() - unconfirmedMs)})
      and not exists (
        select 1 from waitlist_entries e
        where e.project_id = s.project_id and e.list_id = s.list_id and e.subscriber_id = s.id and not e.has_left)
    order by s.created_at, s.id limit 100000`
  for (let start = 0; start < missing.length; start += chunk)
    await database.transaction((tx) => enterLine(tx, key, missing.slice(start, start + chunk)))
  await database.transaction((tx) => recount(tx, key))
}

async function markThoseWhoLeft(tx: Transaction, key: LineKey): Promise<void> {
  await lockLine(tx, key)
  await tx.run`
    update waitlist_entries e set has_left = true, is_mail_due = false from subscribers s
    where e.project_id = ${key.project_id} and e.list_id = ${key.list_id} and e.status <> 'waiting' and not e.has_left
      and s.project_id = e.project_id and s.list_id = e.list_id and s.id = e.subscriber_id and s.status not in ('active', 'pending')`
}
