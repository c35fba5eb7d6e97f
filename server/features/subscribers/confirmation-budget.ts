import { ApiError } from '../../base/errors.ts'
import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import { countMessages } from '../../delivery/enqueue.ts'
import type { Services } from '../../operations/context.ts'
import { findTerms } from '../usage/index.ts'
import { planNamed } from '../usage/usage.ts'

/**
 * Confirmation mails are not counted against the plan, and say what the list's owner wants said: without a limit they would be free mail to
 * strangers. There are two budgets, each as large in a day as the plan is in a month: what the project's own keys ask for, and what strangers
 * do, who join through the page or from elsewhere. So strangers never use up the owner's. Theirs is counted by attempts, before anybody is
 * looked up: by its end nobody can tell who is on a list.
 */
const dayMs = 24 * 3_600_000
/** Of the strangers' budget. It takes more than a few network addresses to close a page for everybody else. */
const shareOfOnePlace = 1 / 4
const leastOfOnePlace = 3

type Needs = Pick<Services, 'config'>

const emailsOf = async ({ config }: Needs, tx: Transaction, project_id: ProjectId): Promise<number | null> =>
  planNamed(config, (await findTerms(tx, project_id))?.plan ?? 'free').emails

/** For what the project's own keys ask for. */
export async function refuseTooMany(services: Needs, tx: Transaction, project_id: ProjectId): Promise<void> {
  const emails = await emailsOf(services, tx, project_id)
  const since = new Date(tx.now.getTime() - dayMs)
  if (emails === null) return
  const asked = await countMessages(tx, { kind: 'confirmation', since, project_id })
  if (asked < emails || asked - (await countAttempts(tx, { project_id, since })) < emails) return
  throw new ApiError(
    'rate_limited',
    `email: ${emails} people were asked to confirm within a day, as many as the plan has e-mails a month. Try again tomorrow, or take a larger plan.`,
    { headers: { 'retry-after': '3600' } },
  )
}

/** Whether strangers may ask for no more mail today, or not from this place. */
export async function isUsedUp(
  services: Needs,
  tx: Transaction,
  { project_id, from }: { project_id: ProjectId; from: Buffer },
): Promise<boolean> {
  const emails = await emailsOf(services, tx, project_id)
  if (emails === null) return false
  const since = new Date(tx.now.getTime() - dayMs)
  const ofOnePlace = Math.max(leastOfOnePlace, Math.floor(emails * shareOfOnePlace))
  return (await countAttempts(tx, { project_id, since, from })) >= ofOnePlace || (await countAttempts(tx, { project_id, since })) >= emails
}

async function countAttempts(db: Queryable, { project_id, since, from }: { project_id: ProjectId; since: Date; from?: Buffer }) {
  const counted = await db.first<{ count: number }>`
    select count(*) as count from list_joins
    where project_id = ${project_id} and joined_at > ${since} and asks_for_mail ${from ? sql`and joined_from = ${from}` : nothing}`
  return counted?.count ?? 0
}
