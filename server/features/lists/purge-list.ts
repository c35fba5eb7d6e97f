import type { BroadcastId } from '../../base/ids.ts'
import type { Database } from '../../database/database.ts'
import { defineJob } from '../../jobs/jobs.ts'
import { releaseUnused } from '../usage/index.ts'
import type { ListKey } from './list-queries.ts'

const chunk = 10_000

/** Removes what a deleted list leaves behind, in chunks: a million rows in one transaction would hold up every event consumer. */
export const purgeList = defineJob<ListKey>({
  name: 'lists.purge',
  async run({ database }, { project_id, list_id }) {
    for (let removed = chunk; removed === chunk; ) {
      removed = await database.run`
        delete from subscribers where project_id = ${project_id} and list_id = ${list_id} and id in (
          select id from subscribers where project_id = ${project_id} and list_id = ${list_id} limit ${chunk})`
    }
    await purgeBroadcasts(database, { project_id, list_id })
    await database.run`delete from posts where project_id = ${project_id} and list_id = ${list_id}`
    await database.run`delete from messages where project_id = ${project_id} and list_id = ${list_id} and status = 'queued'`
    await database.run`delete from list_counters where project_id = ${project_id} and list_id = ${list_id}`
    await database.run`delete from list_activity where project_id = ${project_id} and list_id = ${list_id}`
    await database.run`delete from list_activity_hours where project_id = ${project_id} and list_id = ${list_id}`
  },
})

/** Nothing more is claimed of a broadcast that is aborted; what somebody holds at this moment finds no row to settle. */
async function purgeBroadcasts(database: Database, { project_id, list_id }: ListKey): Promise<void> {
  await database.run`
    update broadcasts set status = 'aborted', reason = 'the list was deleted'
    where project_id = ${project_id} and list_id = ${list_id} and status in ('sending', 'paused')`
  const broadcasts = await database.many<{
    id: BroadcastId
  }>`select id from broadcasts where project_id = ${project_id} and list_id = ${list_id}`
  for (const { id } of broadcasts) {
    // While the ledger can still say what was used.
    await database.transaction((tx) => releaseUnused(tx, { project_id, id }))
    for (let removed = chunk; removed === chunk; ) {
      removed = await database.run`
        delete from deliveries where project_id = ${project_id} and id in (
          select id from deliveries where project_id = ${project_id} and broadcast_id = ${id} limit ${chunk})`
    }
    await database.run`delete from broadcast_links where project_id = ${project_id} and broadcast_id = ${id}`
    await database.run`delete from broadcasts where project_id = ${project_id} and id = ${id}`
  }
}
