import type { Queryable, Transaction } from '../../database/database.ts'
import { type LineKey, lowestPlace, maxInBucket } from './waiting-line.ts'

interface Bucket {
  start: number
  waiting: number
}

/** Counts those at these places in, or out. Goes after their entries were written: a bucket that is full is split where they stand. */
export async function changeBuckets(tx: Transaction, key: LineKey, places: number[], by: 1 | -1): Promise<void> {
  if (places.length === 0) return
  // Nobody stands before the first bucket; where there is none, or somebody got before it, one begins at the very front.
  if (by === 1) await beginAtFront(tx, key, Math.min(...places))
  const changed = await tx.many<Bucket>`
    update waitlist_buckets b set waiting = b.waiting + ${by}::integer * counted.count
    from (
      select bucket.start, count(*)::integer as count from unnest(${places}::bigint[]) as place cross join lateral (
        select start from waitlist_buckets where project_id = ${key.project_id} and list_id = ${key.list_id} and start <= place
        order by start desc limit 1) bucket
      group by bucket.start
    ) counted
    where b.project_id = ${key.project_id} and b.list_id = ${key.list_id} and b.start = counted.start
    returning b.start, b.waiting`
  if (by === -1) await removeEmpty(tx, key, changed)
  else for (const bucket of changed) await splitIfFull(tx, key, bucket)
}

export const beginAtFront = (tx: Transaction, key: LineKey, place: number) => tx.run`
  insert into waitlist_buckets (project_id, list_id, start, waiting)
  select ${key.project_id}, ${key.list_id}, ${lowestPlace}::bigint, 0 where not exists (
    select 1 from waitlist_buckets where project_id = ${key.project_id} and list_id = ${key.list_id} and start <= ${place}::bigint)
  on conflict do nothing`

async function removeEmpty(tx: Transaction, key: LineKey, buckets: Bucket[]): Promise<void> {
  const empty = buckets.filter(({ waiting }) => waiting === 0).map(({ start }) => start)
  if (empty.length > 0)
    await tx.run`
      delete from waitlist_buckets where project_id = ${key.project_id} and list_id = ${key.list_id} and start = any(${empty}::bigint[])`
}

async function splitIfFull(tx: Transaction, key: LineKey, { start, waiting }: Bucket): Promise<void> {
  if (waiting <= maxInBucket) return
  const half = Math.floor(waiting / 2)
  const middle = await tx.first<{ place: number }>`
    select place from waitlist_entries
    where project_id = ${key.project_id} and list_id = ${key.list_id} and status = 'waiting' and place >= ${start}
    order by place offset ${half} limit 1`
  if (!middle) return
  await tx.run`
    insert into waitlist_buckets (project_id, list_id, start, waiting) values (${key.project_id}, ${key.list_id}, ${middle.place}, ${waiting - half})`
  await tx.run`
    update waitlist_buckets set waiting = ${half} where project_id = ${key.project_id} and list_id = ${key.list_id} and start = ${start}`
  await splitIfFull(tx, key, { start, waiting: half })
  await splitIfFull(tx, key, { start: middle.place, waiting: waiting - half })
}

/** After places between `from` and `to` were written anew. */
export async function recountBuckets(tx: Transaction, key: LineKey, { from, to }: { from: number; to: number }): Promise<void> {
  const recounted = await tx.many<Bucket>`
    update waitlist_buckets b set waiting = (
      select count(*) from waitlist_entries e
      where e.project_id = b.project_id and e.list_id = b.list_id and e.status = 'waiting' and e.place >= b.start and (
        ranges.until is null or e.place < ranges.until))
    from (
      select start, lead(start) over (order by start) as until from waitlist_buckets
      where project_id = ${key.project_id} and list_id = ${key.list_id}
    ) ranges
    where b.project_id = ${key.project_id} and b.list_id = ${key.list_id} and b.start = ranges.start and b.start <= ${to}::bigint
      and (ranges.until is null or ranges.until > ${from}::bigint)
    returning b.start, b.waiting`
  await removeEmpty(tx, key, recounted)
  for (const bucket of recounted) await splitIfFull(tx, key, bucket)
}

interface WrongLine extends LineKey {
  kept: number
  counted: number
}

/** Lines whose buckets do not hold who waits. Empty is the proof. */
export const wrongBuckets = (db: Queryable) => db.many<WrongLine>`
  with ranges as (
    select project_id, list_id, start, waiting, lead(start) over (partition by project_id, list_id order by start) as until from waitlist_buckets),
  counted as (
    select r.project_id, r.list_id, r.waiting, (
      select count(*) from waitlist_entries e
      where e.project_id = r.project_id and e.list_id = r.list_id and e.status = 'waiting' and e.place >= r.start and (
        r.until is null or e.place < r.until)) as count
    from ranges r)
  select project_id, list_id, sum(waiting)::bigint as kept, sum(count)::bigint as counted from counted
  group by project_id, list_id having bool_or(waiting <> count)`
