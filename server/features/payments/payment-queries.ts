import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import type { ChallengeRow } from './payment.ts'

type NewChallenge = Omit<ChallengeRow, 'status' | 'token_hash' | 'reference'>

/** A statement of its own, and no audit row: whoever has not paid has changed nothing. */
export const insertChallenge = (db: Queryable, row: NewChallenge) => db.run`
  insert into payment_challenges (project_id, id, key_id, user_id, mailbox_id, operation, target, emails, amount_cents, body_digest, created_at, expires_at)
  values (${row.project_id}, ${row.id}, ${row.key_id}, ${row.user_id}, ${row.mailbox_id}, ${row.operation}, ${row.target}, ${row.emails}, ${row.amount_cents}, ${row.body_digest}, ${row.created_at}, ${row.expires_at})`

/** As many may wait for a payment in a project; whoever asks for more has not meant the first ones. */
const maxOpen = 20

/** Looked at after each new one, so that of many at once the last to look leaves no more. One that is being claimed is left alone. */
export const endOldestChallenges = (db: Queryable, project_id: ProjectId) => db.run`
  delete from payment_challenges where project_id = ${project_id} and status = 'open' and id in (
    select id from payment_challenges where project_id = ${project_id} and status = 'open' order by created_at desc, id desc offset ${maxOpen})`

export const findChallenge = (db: Queryable, project_id: ProjectId, id: string) => db.first<ChallengeRow>`
  select * from payment_challenges where project_id = ${project_id} and id = ${id}`

/** Without a project: the id, which nobody can make but us, is what tells it. */
export const findChallengeById = (db: Queryable, id: string) => db.first<ChallengeRow>`
  select * from payment_challenges where id = ${id}`

/** Held for one payment token: an open challenge, or one that the same token was charging when something broke. */
export const claimChallenge = async (db: Queryable, { project_id, id }: ChallengeRow, token_hash: Buffer): Promise<boolean> =>
  (await db.run`
    update payment_challenges set status = 'charging', token_hash = ${token_hash}
    where project_id = ${project_id} and id = ${id} and (status = 'open' or (status = 'charging' and token_hash = ${token_hash}))`) === 1

/** The single use: of all who come with the same credential, one gets true. */
export const markPaid = async (tx: Transaction, { project_id, id }: ChallengeRow, reference: string): Promise<boolean> =>
  (await tx.run`
    update payment_challenges set status = 'paid', reference = ${reference}, consumed_at = ${tx.now}
    where project_id = ${project_id} and id = ${id} and status = 'charging'`) === 1

export const closeChallenge = async (
  db: Queryable,
  { project_id, id }: ChallengeRow,
  { from, at }: { from: 'open' | 'charging'; at: Date },
): Promise<boolean> =>
  (await db.run`
    update payment_challenges set status = 'closed', consumed_at = ${at}
    where project_id = ${project_id} and id = ${id} and status = ${from}`) === 1

/** Those that nobody has come back for. */
export const listStuckChallenges = (db: Queryable, before: Date, limit: number) => db.many<ChallengeRow>`
  select * from payment_challenges where status = 'charging' and created_at < ${before} order by created_at limit ${limit}`

/**
 * A day is longer than anybody may go on with a challenge. A payment is kept for a year and a half: nothing else here knows by what name
 * the card processor has it. One whose end nobody knows stays until it is settled.
 */
export const pruneChallenges = (db: Queryable, now: Date) => db.run`
  delete from payment_challenges where id in (
    select id from payment_challenges
    where (status in ('open', 'closed') and created_at < ${now}::timestamptz - interval '1 day')
      or (status = 'paid' and created_at < ${now}::timestamptz - interval '18 months')
    limit 5000)`
