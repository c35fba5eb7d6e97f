import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Queryable } from '../../database/database.ts'
import { keptPrefix } from './raw-mail.ts'
import { countStored, type StoredMail } from './raw-mail-queries.ts'

const sampled = 5

/** What is in the blob store, and so in no backup of the database. */
export const findStored = async (db: Queryable): Promise<StoredMail> =>
  (await countStored(db, { keptPrefix, sampled })) ?? { messages: 0, bytes: 0, sample: [] }

export interface StoredSeen extends StoredMail {
  /** How many of the sample the blob store does not have. */
  missing: number
}

/** Whether the blob store is the one of this database: it may have been left behind in a move. */
export async function lookAtStored({ database, blobs }: { database: Queryable; blobs: Pick<BlobStore, 'get'> }): Promise<StoredSeen> {
  const stored = await findStored(database)
  let missing = 0
  for (const key of stored.sample) if ((await blobs.get(key)) === null) missing++
  return { ...stored, missing }
}
