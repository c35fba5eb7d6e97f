import type { Transaction } from '../../database/database.ts'
import { beginAtFront, recountBuckets } from './buckets.ts'
import { lockLine } from './line-queries.ts'
import { type LineKey, lowestPlace } from './waiting-line.ts'

/** Makes every count of a line anew from its entries. */
export async function recount(tx: Transaction, key: LineKey): Promise<void> {
  const line = await lockLine(tx, key)
  await tx.run`
    update waitlist_entries e set is_confirmed = true from subscribers s
    where e.project_id = ${key.project_id} and e.list_id = ${key.list_id} and not e.is_confirmed
      and s.project_id = e.project_id and s.list_id = e.list_id and s.id = e.subscriber_id and s.status = 'active'`
  await tx.run`
    update waitlist_lines l set waiting = c.waiting, confirmed = c.confirmed, invited = c.invited, accepted = c.accepted
    from (
      select count(*) filter (where status = 'waiting') as waiting, count(*) filter (where status = 'waiting' and is_confirmed) as confirmed,
        count(*) filter (where status <> 'waiting') as invited, count(*) filter (where status = 'accepted') as accepted
      from waitlist_entries where project_id = ${key.project_id} and list_id = ${key.list_id}) c
    where l.project_id = ${key.project_id} and l.list_id = ${key.list_id}`
  await beginAtFront(tx, key, lowestPlace)
  await recountBuckets(tx, key, { from: lowestPlace, to: line.last_place })
}
