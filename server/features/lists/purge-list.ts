import type { Database } from '../../database/database.ts'
import { removeDeliveries } from '../../delivery/control.ts'
import { defineJob } from '../../jobs/jobs.ts'
import { releaseUnused, untilLetGo } from '../usage/index.ts'
import type { ListKey } from './list-queries.ts'
import {
  abortBroadcastsOf,
  broadcastsOf,
  removeBroadcast,
  removeRest,
  removeSiteDomain,
  removeSubscribers,
  removeWaitlistEntries,
} from './purge-queries.ts'

const chunk = 10_000

/** Removes what a deleted list leaves behind, in chunks: a million rows in one transaction would hold up every event consumer. */
export const purgeList = defineJob<ListKey>({
  name: 'lists.purge',
  async run({ database }, key) {
    await removeSiteDomain(database, key)
    await inChunks(() => removeSubscribers(database, key, chunk))
    await inChunks(() => removeWaitlistEntries(database, key, chunk))
    await purgeBroadcasts(database, key)
    await removeRest(database, key)
  },
})

/** Nothing more is claimed of a broadcast that is aborted; what somebody holds at this moment finds no row to settle. */
async function purgeBroadcasts(database: Database, key: ListKey): Promise<void> {
  await abortBroadcastsOf(database, key)
  await untilLetGo(database, key)
  for (const broadcast of await broadcastsOf(database, key)) {
    // While the ledger can still say what was used.
    await database.transaction((tx) => releaseUnused(tx, broadcast))
    await inChunks(() => database.transaction((tx) => removeDeliveries(tx, broadcast, chunk)))
    await removeBroadcast(database, broadcast)
  }
}

async function inChunks(remove: () => Promise<number>): Promise<void> {
  for (let removed = chunk; removed === chunk; ) removed = await remove()
}
