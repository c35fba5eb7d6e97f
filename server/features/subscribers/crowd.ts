import { ApiError } from '../../base/errors.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import type { ListKey } from '../lists/index.ts'

export interface Comer extends ListKey {
  /** A keyed hash of where it comes from. */
  from: Buffer
  /** So many an hour, in place of JOINS_PER_HOUR. */
  limit?: number
}

const hourMs = 3_600_000

/** What strangers ask for sends a mail to somebody who may not have asked: one place gets so many an hour for each list, and so does the list. */
export async function refuseCrowd({ config }: Pick<Services, 'config'>, tx: Transaction, comer: Comer): Promise<void> {
  const { limit = config.JOINS_PER_HOUR, ...place } = comer
  const upTo = config.LIST_JOINS_PER_HOUR
  const { here, all } = await countJoined(tx, place, { since: new Date(tx.now.getTime() - hourMs), upTo })
  if (here < limit && all < upTo) return
  const where = here < limit ? 'this list' : 'from here'
  throw new ApiError('rate_limited', `Too many have joined ${where} within the hour. Try again later.`, {
    headers: { 'retry-after': '3600' },
  })
}

interface Joins {
  here: number
  all: number
}

/** From one place and from everywhere; the latter is counted no further than to `upTo`. */
async function countJoined(
  tx: Transaction,
  { project_id, list_id, from }: Comer,
  { since, upTo }: { since: Date; upTo: number },
): Promise<Joins> {
  const counted = await tx.first<Joins>`
    select (
      select count(*) from list_joins
      where project_id = ${project_id} and list_id = ${list_id} and joined_from = ${from} and joined_at > ${since}
    ) as here, (
      select count(*) from (
        select 1 from list_joins where project_id = ${project_id} and list_id = ${list_id} and joined_at > ${since} limit ${upTo}) recent
    ) as all`
  return counted ?? { here: 0, all: 0 }
}

export const noteJoined = (tx: Transaction, { project_id, list_id, from }: Comer) => tx.run`
  insert into list_joins (project_id, list_id, joined_from, joined_at) values (${project_id}, ${list_id}, ${from}, ${tx.now})`

export const forgetJoined = (db: Queryable, before: Date) => db.run`delete from list_joins where joined_at < ${before}`
