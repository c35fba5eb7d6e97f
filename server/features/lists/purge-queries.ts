import type { BroadcastId, ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import type { ListKey } from './list-queries.ts'

/** What a deleted list leaves behind. Those that may be a million go so many at a time, and answer how many went. */
export const removeSubscribers = (db: Queryable, { project_id, list_id }: ListKey, chunk: number) => db.run`
  delete from subscribers where project_id = ${project_id} and list_id = ${list_id} and id in (
    select id from subscribers where project_id = ${project_id} and list_id = ${list_id} limit ${chunk})`

export const removeWaitlistEntries = (db: Queryable, { project_id, list_id }: ListKey, chunk: number) => db.run`
  delete from waitlist_entries where project_id = ${project_id} and list_id = ${list_id} and subscriber_id in (
    select subscriber_id from waitlist_entries where project_id = ${project_id} and list_id = ${list_id} limit ${chunk})`

interface BroadcastKey {
  project_id: ProjectId
  id: BroadcastId
}

export const abortBroadcastsOf = (db: Queryable, { project_id, list_id }: ListKey) => db.run`
  update broadcasts set status = 'aborted', reason = 'the list was deleted'
  where project_id = ${project_id} and list_id = ${list_id} and status in ('sending', 'paused')`

export const broadcastsOf = (db: Queryable, { project_id, list_id }: ListKey) => db.many<BroadcastKey>`
  select project_id, id from broadcasts where project_id = ${project_id} and list_id = ${list_id}`

export async function removeBroadcast(db: Queryable, { project_id, id }: BroadcastKey): Promise<void> {
  await db.run`delete from broadcast_hours where project_id = ${project_id} and broadcast_id = ${id}`
  await db.run`delete from broadcast_links where project_id = ${project_id} and broadcast_id = ${id}`
  await db.run`delete from broadcasts where project_id = ${project_id} and id = ${id}`
}

/** The domain of its site: whoever connects it next gets a certificate of theirs. */
export async function removeSiteDomain(db: Queryable, { project_id, list_id }: ListKey): Promise<void> {
  await db.run`
    delete from certificates c using site_domains d
    where d.project_id = ${project_id} and d.list_id = ${list_id} and c.project_id = d.project_id and c.host in (d.domain, 'www.' || d.domain)
      and not exists (select 1 from site_hosts h where h.host = c.host and h.list_id <> d.list_id)`
  await db.run`delete from site_hosts where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from site_domains where project_id = ${project_id} and list_id = ${list_id}`
}

/** Its posts, its unsent messages, its counters, its feed and its line. */
export async function removeRest(db: Queryable, { project_id, list_id }: ListKey): Promise<void> {
  await db.run`delete from posts where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from post_views where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from post_likes where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from messages where project_id = ${project_id} and list_id = ${list_id} and status = 'queued'`
  await db.run`delete from list_counters where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from list_days where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from list_activity where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from list_activity_hours where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from list_joins where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from waitlist_lines where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from waitlist_buckets where project_id = ${project_id} and list_id = ${list_id}`
  await db.run`delete from waitlist_referrals where project_id = ${project_id} and list_id = ${list_id}`
}
