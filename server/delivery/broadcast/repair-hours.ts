import type { BroadcastId, ListId, ProjectId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Database, Queryable } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { addingToHours } from './hours.ts'

interface WrongHours {
  project_id: ProjectId
  id: BroadcastId
  list_id: ListId
  created_at: Date
  delivered: number
  bounced: number
  complained: number
  opened: number
  clicked: number
  unsubscribed: number
}

/** After a month nothing changes a broadcast any more. */
const provedForMs = 30 * 86_400_000

/**
 * Broadcasts whose hours do not add up to their counts, with what is missing: one statement sees both at one moment. Empty is the proof; that
 * the counts are right is proved against the ledger itself.
 */
export const wrongHours = (db: Queryable, since: Date) => db.many<WrongHours>`
  select b.project_id, b.id, b.list_id, b.created_at, b.delivered + b.complained - h.delivered as delivered, b.bounced - h.bounced as bounced,
    b.complained - h.complained as complained, b.opened - h.opened as opened, b.clicked - h.clicked as clicked,
    b.unsubscribed - h.unsubscribed as unsubscribed
  from broadcasts b cross join lateral (
    select coalesce(sum(delivered), 0)::bigint as delivered, coalesce(sum(bounced), 0)::bigint as bounced,
      coalesce(sum(complained), 0)::bigint as complained, coalesce(sum(opened), 0)::bigint as opened,
      coalesce(sum(clicked), 0)::bigint as clicked, coalesce(sum(unsubscribed), 0)::bigint as unsubscribed
    from broadcast_hours where project_id = b.project_id and broadcast_id = b.id
  ) h
  where (b.finished_at is null or b.finished_at > ${since})
    and (b.delivered + b.complained, b.bounced, b.complained, b.opened, b.clicked, b.unsubscribed)
      <> (h.delivered, h.bounced, h.complained, h.opened, h.clicked, h.unsubscribed)`

/** What is missing is put to the hour in which the broadcast began: when it happened, nobody has noted. */
export async function repairBroadcastHours({ database, log, now }: { database: Database; log: Log; now: Date }): Promise<void> {
  for (const wrong of await wrongHours(database, new Date(now.getTime() - provedForMs))) {
    const { project_id, id, list_id, created_at, ...difference } = wrong
    log.warn({ broadcast_id: id, difference }, 'the hours of a broadcast were off and are mended')
    const { delivered, bounced, complained, opened, clicked, unsubscribed } = difference
    await database.run`
      with held as (select project_id, id, list_id from broadcasts where project_id = ${project_id} and id = ${id} for update)
      ${addingToHours(sql`
        select project_id, id, date_trunc('hour', ${created_at}::timestamptz, 'UTC'), list_id, ${delivered}::bigint, ${bounced}::bigint,
          ${complained}::bigint, ${opened}::bigint, ${clicked}::bigint, ${unsubscribed}::bigint
        from held`)}`
  }
}
