import { join } from 'node:path'
import type { Config } from '../base/config.ts'
import { reasonOf } from '../base/errors.ts'
import { createBlobStore } from '../blobs/index.ts'
import { dataDirOf } from '../database/connect.ts'
import type { Queryable } from '../database/database.ts'
import { lookAtStored, type StoredSeen } from '../features/raw-mail/index.ts'
import type { Check } from './doctor-check.ts'
import { count, megabytes } from './progress.ts'

type Counted = Pick<StoredSeen, 'messages' | 'bytes'>

/** `3 raw messages (1.2 MB)`. */
export const amountOf = ({ messages, bytes }: Counted): string =>
  `${count(messages)} raw ${messages === 1 ? 'message' : 'messages'} (${megabytes(bytes)})`

export const blobPlace = (config: Config): string =>
  config.BLOB_URL === null ? join(dataDirOf(config), 'blobs') : 'the store that BLOB_URL names'

/** Large messages are files, and no part of a backup: said each time, because they are missed only later. */
export function notInBackup(config: Config, stored: Counted | null): string[] {
  if (stored === null) return [`Raw messages over 64 kB are not inside, and there was no time to count them. ${copyOf(config)}`]
  return stored.messages === 0 ? [] : [`Not inside: ${amountOf(stored)}. ${copyOf(config)}`]
}

const copyOf = (config: Config): string =>
  config.BLOB_URL === null
    ? `Copy ${blobPlace(config)} as well, now that this is done.`
    : `They are in ${blobPlace(config)}: keep that as well.`

/** Asked of the store of the configuration, which may be away. */
const look = (config: Config, database: Queryable): Promise<StoredSeen> =>
  lookAtStored({ database, blobs: createBlobStore(config.BLOB_URL, dataDirOf(config)) })

/** After a restore: whether what the file could not hold is here already. */
export async function besideRestore(config: Config, database: Queryable): Promise<string[]> {
  try {
    const seen = await look(config, database)
    if (seen.messages === 0) return []
    const begins = `Not in the file: ${amountOf(seen)}`
    if (seen.missing === 0) return [`${begins}, which ${blobPlace(config)} has.`]
    return [`${begins}, which ${blobPlace(config)} does not have either. ${bringThem(config)}`]
  } catch (error) {
    return [`The raw messages that are not in the file cannot be looked at (${reasonOf(error)}). "posthaste doctor" tries again.`]
  }
}

const bringThem = (config: Config): string =>
  config.BLOB_URL === null
    ? 'Copy the folder blobs of the DATA_DIR that the backup is from there.'
    : 'Bring them there from the store, or the folder DATA_DIR/blobs, that the backup is from.'

export async function checkRawMessages(config: Config, database: Queryable): Promise<Check> {
  const name = 'raw messages'
  try {
    const seen = await look(config, database)
    if (seen.messages === 0) return { name, state: 'good', seen: 'all of them are in the database' }
    const place = `${amountOf(seen)} in ${blobPlace(config)}`
    if (seen.missing === 0) return { name, state: 'good', seen: `${place}, beside every backup` }
    return {
      name,
      state: seen.missing === seen.sample.length ? 'bad' : 'warning',
      seen: `${place}: ${seen.missing} of ${seen.sample.length} that were looked for are not there`,
      next: bringThem(config),
    }
  } catch (error) {
    return { name, state: 'bad', seen: `${blobPlace(config)} cannot be read: ${reasonOf(error)}`, next: 'Check BLOB_URL, or the folder.' }
  }
}
