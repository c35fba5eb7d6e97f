import type { SubscriberId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { changeBuckets } from './buckets.ts'
import { changeLine, deleteEntries, deleteLeft, hasEntry, insertEntries, lockLine, markLeft, type Newcomer } from './line-queries.ts'
import { type EntryRow, gap, type LineKey, type LineRow } from './waiting-line.ts'

/** Puts people at the end of the line, in this order. Who stands in it already keeps their place; who was invited and left begins anew. */
export async function enterLine(tx: Transaction, key: LineKey, newcomers: Newcomer[]): Promise<void> {
  if (newcomers.length > 0) await appendTo(tx, await lockLine(tx, key), newcomers)
}

/** The same, for whoever holds the line. */
export async function appendTo(tx: Transaction, line: LineRow, newcomers: Newcomer[]): Promise<void> {
  const again = newcomers.map(({ subscriber_id }) => subscriber_id)
  await discount(tx, line, await deleteLeft(tx, line, again))
  const entered = await insertEntries(tx, line, { newcomers, first: line.last_place + gap, step: gap })
  await changeLine(tx, line, {
    last_place: newcomers.length * gap,
    waiting: entered.length,
    confirmed: entered.filter((entry) => entry.is_confirmed).length,
  })
  await changeBuckets(
    tx,
    line,
    entered.map(({ place }) => place),
    1,
  )
}

/** Those who wait leave the line; who was invited before stays counted as that. People of other lists have no entry, and cost one look. */
export const leaveLine = (tx: Transaction, key: LineKey, ids: SubscriberId[]) => takeOut(tx, key, { ids, onlyWaiting: true })

/** For who is removed altogether: nothing is left that would count them, or know them by what they referred. */
export async function forgetEntries(tx: Transaction, key: LineKey, ids: SubscriberId[]): Promise<void> {
  await takeOut(tx, key, { ids, onlyWaiting: false })
  await tx.run`
    delete from waitlist_referrals where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = any(${ids}::uuid[])`
}

async function takeOut(tx: Transaction, key: LineKey, which: { ids: SubscriberId[]; onlyWaiting: boolean }): Promise<void> {
  if (!(await hasEntry(tx, key, which.ids))) return
  await lockLine(tx, key)
  await discount(tx, key, await deleteEntries(tx, key, which))
  if (which.onlyWaiting) await markLeft(tx, key, which.ids)
}

type Gone = Pick<EntryRow, 'status' | 'place' | 'is_confirmed'>

/** Takes entries that were removed out of the counts. */
export async function discount(tx: Transaction, key: LineKey, gone: Gone[]): Promise<void> {
  const waiting = gone.filter(({ status }) => status === 'waiting')
  await changeLine(tx, key, {
    waiting: -waiting.length,
    confirmed: -waiting.filter(({ is_confirmed }) => is_confirmed).length,
    invited: waiting.length - gone.length,
    accepted: -gone.filter(({ status }) => status === 'accepted').length,
  })
  await changeBuckets(
    tx,
    key,
    waiting.map(({ place }) => place),
    -1,
  )
}
