import { setTimeout as sleep } from 'node:timers/promises'
import type { MailboxId, ProjectId } from '../../base/ids.ts'
import { oneForEach } from '../../base/one-for-each.ts'
import { together } from '../../base/together.ts'
import { wake } from '../../base/wake.ts'
import type { Database, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'

/** Mail that this transaction puts into a mailbox. */
export interface AddedMail {
  project_id: ProjectId
  mailbox_id: MailboxId
  count: number
  /** When the newest of it came in; null for mail that went out. */
  received_at: Date | null
}

/**
 * Goes after an `added` with those columns, one row for each mailbox. One row of a mailbox at a time, and all in one order: who adds to
 * the same ones waits, and never in a circle. They are held until the transaction ends, so that places become visible in their order.
 */
export const drawnPlaces = sql`held as (
    select m.project_id, m.id from mailboxes m join added a on a.project_id = m.project_id and a.mailbox_id = m.id order by m.id for no key update of m
  ), drawn as (
    update mailboxes m
    set email_count = m.email_count + a.count, last_position = m.last_position + a.count,
      last_received_at = greatest(m.last_received_at, a.received_at)
    from added a join held h on h.project_id = a.project_id and h.id = a.mailbox_id
    where m.project_id = h.project_id and m.id = h.id
    returning m.project_id, m.id, m.last_position - a.count + 1 as first_position)`

/**
 * The one way for mail into a mailbox: counts it, and draws the place (`emails.position`) of each. Answers the first place for each
 * mailbox; those of the others follow it. Whoever waits for mail in them is told after the commit. Called once in a transaction, before
 * it touches e-mails.
 */
export async function addMail({ database }: { database: Database }, tx: Transaction, added: AddedMail[]): Promise<Map<MailboxId, number>> {
  const rows = await tx.many<{ id: MailboxId; first_position: number }>`
    with added as (
      select * from jsonb_to_recordset(${JSON.stringify(added)}::jsonb) as a (project_id uuid, mailbox_id uuid, count integer, received_at timestamptz)
    ), ${drawnPlaces}
    select id, first_position from drawn`
  const ids = rows.map(({ id }) => id)
  tx.afterCommit(() => tellOfMail(database, ids))
  return new Map(rows.map(({ id, first_position }) => [id, first_position]))
}

export const mailChannel = 'mailboxes'

/** After the commit: who waits in this process looks at once, and PostgreSQL tells the others. */
export function tellOfMail(database: Database, ids: MailboxId[]): void {
  if (ids.length === 0) return
  for (const id of ids) wake('mailboxes', id)
  // One that nobody hears is made up for: who waits looks by themselves now and then.
  tellOthers(database)(ids).catch(() => {})
}

/** The first is told at once, those that come right after it together: telling of each was a seventh of the statements of single mails. */
const tellEveryMs = 50

/**
 * A statement of its own: within the transaction that files, NOTIFY would hold a lock over the whole database until that has reached
 * the disk, and everybody's mail would wait in one line.
 */
const tellOthers = oneForEach((database: Database) =>
  together(
    async (told: MailboxId[][]) => {
      const ids = [...new Set(told.flat())]
      await database.run`select pg_notify(${mailChannel}, id) from unnest(${ids}::text[]) as id`
      await sleep(tellEveryMs, undefined, { ref: false })
      return ids
    },
    { most: 1_000, isOfAll: () => true },
  ),
)
