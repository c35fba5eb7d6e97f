import { ApiError } from '../../base/errors.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'
import type { Services } from '../../operations/context.ts'
import type { ListRow } from '../lists/index.ts'
import { isUsedUp } from './confirmation-budget.ts'

interface Attempt {
  list: Pick<ListRow, 'project_id' | 'id'>
  /** A keyed hash of where it comes from. */
  from: Buffer
  /** False for an agent that joins as itself. */
  asks_for_mail: boolean
  /** So many an hour, in place of JOINS_PER_HOUR. */
  limit?: number
}

const hourMs = 3_600_000

/** One network address, or one caller from elsewhere, may try so often an hour for each list; and all strangers so often a day for a project. */
export async function countAttempt({ config }: Pick<Services, 'config'>, tx: Transaction, attempt: Attempt): Promise<void> {
  const { list, from, limit = config.JOINS_PER_HOUR } = attempt
  await holdName(tx, `joins of ${list.project_id}`) // many at once are as many as one after the other
  if ((await countAttempts(tx, attempt, new Date(tx.now.getTime() - hourMs))) >= limit)
    throw tooMany('Too many tried to join from here within the hour. Try again later.')
  if (attempt.asks_for_mail && (await isUsedUp({ config }, tx, { project_id: list.project_id, from })))
    throw tooMany('Too many tried to join today. Try again tomorrow.')
  await tx.run`
    insert into list_joins (project_id, list_id, joined_from, joined_at, asks_for_mail)
    values (${list.project_id}, ${list.id}, ${from}, ${tx.now}, ${attempt.asks_for_mail})`
}

const tooMany = (message: string) => new ApiError('rate_limited', message, { headers: { 'retry-after': '3600' } })

async function countAttempts(db: Queryable, { list, from }: Attempt, since: Date): Promise<number> {
  const counted = await db.first<{ count: number }>`
    select count(*) as count from list_joins
    where project_id = ${list.project_id} and list_id = ${list.id} and joined_from = ${from} and joined_at > ${since}`
  return counted?.count ?? 0
}

export const forgetAttempts = (db: Queryable, before: Date) => db.run`delete from list_joins where joined_at < ${before}`
