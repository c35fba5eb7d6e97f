import type { SubscriberId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { EntryKey, EntryRow, LineKey, LineRow } from './waiting-line.ts'

export const findLine = (db: Queryable, key: LineKey) => db.first<LineRow>`
  select * from waitlist_lines where project_id = ${key.project_id} and list_id = ${key.list_id}`

/** Holds the line until the commit: whoever else wants to change it waits. */
export async function lockLine(tx: Transaction, key: LineKey): Promise<LineRow> {
  const line = await lockExisting(tx, key)
  if (line) return line
  await tx.run`insert into waitlist_lines (project_id, list_id) values (${key.project_id}, ${key.list_id}) on conflict do nothing`
  return (await lockExisting(tx, key)) as LineRow // inserted above, by us or by somebody who has committed
}

const lockExisting = (tx: Transaction, key: LineKey) => tx.first<LineRow>`
  select * from waitlist_lines where project_id = ${key.project_id} and list_id = ${key.list_id} for update`

export type LineChange = Partial<Omit<LineRow, keyof LineKey>>

/** Each number is a difference. */
export const changeLine = (
  tx: Transaction,
  key: LineKey,
  { last_place = 0, waiting = 0, confirmed = 0, invited = 0, accepted = 0 }: LineChange,
) => tx.run`
  update waitlist_lines set last_place = last_place + ${last_place}, waiting = waiting + ${waiting}, confirmed = confirmed + ${confirmed},
    invited = invited + ${invited}, accepted = accepted + ${accepted}
  where project_id = ${key.project_id} and list_id = ${key.list_id}`

export const findEntry = (db: Queryable, key: EntryKey) => db.first<EntryRow>`
  select * from waitlist_entries
  where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = ${key.subscriber_id}`

/** Only as good as `lockLine` before it. */
export const findEntryByCode = (db: Queryable, key: LineKey, code: string) => db.first<EntryRow>`
  select * from waitlist_entries where project_id = ${key.project_id} and list_id = ${key.list_id} and referral_code = ${code}`

export interface Newcomer {
  subscriber_id: SubscriberId
  is_confirmed: boolean
  referred_by?: SubscriberId | null
  joined_from?: Buffer | null
  /** False for who takes none of the places that there are. */
  takes_place?: boolean
}

/** In this order, from the place `first` on. Who has an entry already keeps it. Answers the places that were taken. */
export const insertEntries = (
  tx: Transaction,
  key: LineKey,
  { newcomers, first, step }: { newcomers: Newcomer[]; first: number; step: number },
) => tx.many<{
  place: number
  is_confirmed: boolean
}>`
  insert into waitlist_entries (project_id, list_id, subscriber_id, is_confirmed, place, referred_by, joined_from, takes_place, joined_at)
  select ${key.project_id}, ${key.list_id}, one.subscriber_id, one.is_confirmed, ${first}::bigint + (number - 1) * ${step}::bigint,
    one.referred_by, one.joined_from, one.takes_place, ${tx.now}
  from unnest(${newcomers.map((one) => one.subscriber_id)}::uuid[], ${newcomers.map((one) => one.is_confirmed)}::boolean[],
    ${newcomers.map((one) => one.referred_by ?? null)}::uuid[], ${newcomers.map((one) => one.joined_from ?? null)}::bytea[],
    ${newcomers.map((one) => one.takes_place ?? true)}::boolean[]) with ordinality
    as one (subscriber_id, is_confirmed, referred_by, joined_from, takes_place, number)
  on conflict (project_id, list_id, subscriber_id) do nothing
  returning place, is_confirmed`

/** Those of them who are there. With `onlyWaiting`, who was invited before stays counted. */
export const deleteEntries = (
  tx: Transaction,
  key: LineKey,
  { ids, onlyWaiting }: { ids: SubscriberId[]; onlyWaiting: boolean },
) => tx.many<Pick<EntryRow, 'status' | 'place' | 'is_confirmed'>>`
  delete from waitlist_entries
  where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = any(${ids}::uuid[])
    and (status = 'waiting' or not ${onlyWaiting}::boolean)
  returning status, place, is_confirmed`

export const markLeft = (tx: Transaction, key: LineKey, ids: SubscriberId[]) => tx.run`
  update waitlist_entries set has_left = true, is_mail_due = false
  where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = any(${ids}::uuid[]) and not has_left`

/** Those of them who had left after they were invited. */
export const deleteLeft = (tx: Transaction, key: LineKey, ids: SubscriberId[]) => tx.many<
  Pick<EntryRow, 'status' | 'place' | 'is_confirmed'>
>`
  delete from waitlist_entries
  where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = any(${ids}::uuid[]) and has_left
  returning status, place, is_confirmed`

export const hasEntry = async (db: Queryable, key: LineKey, ids: SubscriberId[]): Promise<boolean> =>
  (await db.first`
    select 1 from waitlist_entries
    where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = any(${ids}::uuid[]) limit 1`) !== null

/** Nearest first: the places of those who wait before a place. */
export const placesAhead = (tx: Transaction, key: LineKey, { place, limit }: { place: number; limit: number }) => tx.many<{
  place: number
}>`
  select place from waitlist_entries
  where project_id = ${key.project_id} and list_id = ${key.list_id} and status = 'waiting' and place < ${place}
  order by place desc limit ${limit}`

/** Nearest first: who waits behind a place. */
export const entriesBehind = (tx: Transaction, key: LineKey, { place, limit }: { place: number; limit: number }) => tx.many<
  Pick<EntryRow, 'subscriber_id' | 'place'>
>`
  select subscriber_id, place from waitlist_entries
  where project_id = ${key.project_id} and list_id = ${key.list_id} and status = 'waiting' and place > ${place}
  order by place limit ${limit}`

export const setPlaces = (tx: Transaction, key: LineKey, moved: Pick<EntryRow, 'subscriber_id' | 'place'>[]) => tx.run`
  update waitlist_entries e set place = one.place
  from unnest(${moved.map((one) => one.subscriber_id)}::uuid[], ${moved.map((one) => one.place)}::bigint[]) as one (subscriber_id, place)
  where e.project_id = ${key.project_id} and e.list_id = ${key.list_id} and e.subscriber_id = one.subscriber_id`

export interface Standing {
  subscriber_id: SubscriberId
  status: EntryRow['status']
  /** Null for who waits no more. */
  position: number | null
  referral_code: string
  referral_count: number
}

/** Where each of them stands who has not left, all at one moment. Costs the same wherever that is. */
export const standingsOf = (db: Queryable, key: LineKey, ids: SubscriberId[]) => db.many<Standing>`
  select e.subscriber_id, e.status, e.referral_code, e.referral_count, case when e.status = 'waiting' then (
    select coalesce(sum(b.waiting), 0) from waitlist_buckets b
    where b.project_id = e.project_id and b.list_id = e.list_id and b.start < own.start
  ) + (
    select count(*) from waitlist_entries ahead
    where ahead.project_id = e.project_id and ahead.list_id = e.list_id and ahead.status = 'waiting'
      and ahead.place >= own.start and ahead.place <= e.place
  ) end::bigint as position
  from waitlist_entries e left join lateral (
    select b.start from waitlist_buckets b where b.project_id = e.project_id and b.list_id = e.list_id and b.start <= e.place
    order by b.start desc limit 1
  ) own on e.status = 'waiting'
  where e.project_id = ${key.project_id} and e.list_id = ${key.list_id} and e.subscriber_id = any(${ids}::uuid[]) and not e.has_left`
