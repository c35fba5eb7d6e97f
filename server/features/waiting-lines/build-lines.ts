import type { Database, Transaction } from '../../database/database.ts'
import { recount } from './recount.ts'
import { gap, type LineKey } from './waiting-line.ts'

/**
 * Gives everybody on a list that is older than lines a place, in the order of joining. Done before anybody is answered, and not in the
 * migration, which would hold up the previous release for as long. Killed in between, the next start goes on.
 */
export async function buildLines(database: Database): Promise<void> {
  for (const key of await database.many<LineKey>`select project_id, list_id from waitlist_lines where not is_built`)
    await database.transaction((tx) => buildLine(tx, key))
}

/** Up to place 0: whoever was put into the line meanwhile stands behind them. */
async function buildLine(tx: Transaction, key: LineKey): Promise<void> {
  // Of two processes that start at once, the second waits here and finds it done.
  const built = await tx.run`
    update waitlist_lines set is_built = true where project_id = ${key.project_id} and list_id = ${key.list_id} and not is_built`
  if (built === 0) return
  await tx.run`
    insert into waitlist_entries (project_id, list_id, subscriber_id, is_confirmed, place, joined_at)
    select project_id, list_id, id, status = 'active', (row_number() over (order by created_at, id) - count(*) over ()) * ${gap}::bigint, created_at
    from subscribers where project_id = ${key.project_id} and list_id = ${key.list_id} and status in ('active', 'pending')
    on conflict (project_id, list_id, subscriber_id) do nothing`
  await recount(tx, key)
}
