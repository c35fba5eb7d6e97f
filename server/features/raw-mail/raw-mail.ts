import type { ProjectId } from '../../base/ids.ts'
import { maxReadInPlace } from '../../mail/inbound/plain-mail.ts'
import type { Services } from '../../operations/context.ts'
import { deleteKept, findKept } from './raw-mail-queries.ts'

/**
 * Where a message lies as it came: `raw_key` of its e-mails. Small ones stay in PostgreSQL, in the row that the spool stored before the 250, because a file for
 * each costs more than all of its reading; the others are in the blob store, as is everything from before there were two places. Nobody else looks at what is
 * in a key.
 */
export const keptPrefix = 'kept/'

/** Larger ones go to the blob store: they would make a backup of the database long, and their file is a small part of their cost. */
export const maxKeptBytes = maxReadInPlace

/** `emailText` takes it apart as well. */
export const keptKey = (kept_id: string): string => `${keptPrefix}${kept_id}`

/** It is in the database, beside the e-mails that name it. */
export const isKept = (raw_key: string): boolean => raw_key.startsWith(keptPrefix)

const keptIds = (raw_keys: string[]): string[] => raw_keys.filter(isKept).map((key) => key.slice(keptPrefix.length))

type Needs = Pick<Services, 'database' | 'blobs'>

export async function readRawMail(
  { database, blobs }: Needs,
  { project_id, raw_key }: { project_id: ProjectId; raw_key: string },
): Promise<Buffer | null> {
  const [kept_id] = keptIds([raw_key])
  return kept_id === undefined ? blobs.get(raw_key) : ((await findKept(database, { project_id, kept_id }))?.raw ?? null)
}

/** What is not there is no mistake. */
export async function removeRawMail({ database, blobs }: Needs, project_id: ProjectId, raw_keys: string[]): Promise<void> {
  const kept_ids = keptIds(raw_keys)
  const stored = raw_keys.filter((key) => !isKept(key))
  if (kept_ids.length > 0) await deleteKept(database, { project_id, kept_ids })
  if (stored.length > 0) await blobs.remove(stored)
}
