import type { SubscriberId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { type Fragment, sql } from '../../database/sql.ts'
import { changeBuckets } from './buckets.ts'
import { changeLine } from './line-queries.ts'
import type { LineRow } from './waiting-line.ts'

export interface Invited {
  subscriber_id: SubscriberId
  place: number
}

/** The next ones by position. Who has not confirmed is passed over, and stays where they are. Whoever calls holds the line. */
export const inviteNext = (tx: Transaction, line: LineRow, count: number): Promise<Invited[]> =>
  invite(
    tx,
    line,
    sql`select subscriber_id from waitlist_entries
      where project_id = ${line.project_id} and list_id = ${line.list_id} and status = 'waiting' and is_confirmed order by place limit ${count}`,
  )

/** Those of them who wait and have confirmed. */
export const inviteThese = (tx: Transaction, line: LineRow, ids: SubscriberId[]): Promise<Invited[]> =>
  invite(tx, line, sql`select unnest(${ids}::uuid[])`)

async function invite(tx: Transaction, line: LineRow, who: Fragment): Promise<Invited[]> {
  const invited = await tx.many<Invited>`
    update waitlist_entries set status = 'invited', invited_at = ${tx.now}, is_mail_due = true
    where project_id = ${line.project_id} and list_id = ${line.list_id} and status = 'waiting' and is_confirmed and subscriber_id in (${who})
    returning subscriber_id, place`
  await changeLine(tx, line, { waiting: -invited.length, confirmed: -invited.length, invited: invited.length })
  await changeBuckets(
    tx,
    line,
    invited.map(({ place }) => place),
    -1,
  )
  return invited
}
