import type { Queryable } from '../../database/database.ts'
import type { ListRow } from '../lists/index.ts'
import { type Standing, standingsOf } from '../waiting-lines/index.ts'
import type { SubscriberRow } from './subscriber.ts'

/** What somebody is on a waitlist beside being a subscriber; on other lists, nothing. */
interface InLine {
  waitlist_status?: Standing['status'] | null
  position?: number | null
  referral_code?: string | null
  referral_count?: number | null
}

/** Subscribers of one list, each with where they stand if it is a waitlist. */
export async function withStandings(
  db: Queryable,
  { type }: Pick<ListRow, 'type'>,
  rows: SubscriberRow[],
): Promise<(SubscriberRow & InLine)[]> {
  const [first] = rows
  if (type !== 'waitlist' || !first) return rows
  const standings = await standingsOf(
    db,
    first,
    rows.map((row) => row.id),
  )
  const standingOf = new Map(standings.map((standing) => [standing.subscriber_id, standing]))
  return rows.map((row) => {
    const { status = null, position = null, referral_code = null, referral_count = null } = standingOf.get(row.id) ?? {}
    return { ...row, waitlist_status: status, position, referral_code, referral_count }
  })
}

export const withStanding = async (db: Queryable, list: Pick<ListRow, 'type'>, row: SubscriberRow): Promise<SubscriberRow & InLine> =>
  (await withStandings(db, list, [row]))[0] ?? row
