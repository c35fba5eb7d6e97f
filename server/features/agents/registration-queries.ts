import { newId, type ProjectId, type RegistrationId, type UserId } from '../../base/ids.ts'
import { hashOfSecret } from '../../base/secrets.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'
import { findHomes } from '../../events/homes.ts'
import type { RegistrationKind, RegistrationRow } from './agent.ts'

interface NewRegistrationRow {
  kind: RegistrationKind
  user_id: UserId | null
  project_id: ProjectId | null
  claim_token: string
  claim_expires_at: Date
  ip: string
}

export const insertRegistration = async (tx: Transaction, registration: NewRegistrationRow): Promise<RegistrationRow> => {
  const [row] = await tx.many<RegistrationRow>`
    insert into agent_registrations (id, kind, user_id, project_id, claim_token_hash, claim_expires_at, ip, created_at)
    values (${newId<'reg'>()}, ${registration.kind}, ${registration.user_id}, ${registration.project_id},
      ${hashOfSecret(registration.claim_token)}, ${registration.claim_expires_at}, ${registration.ip}, ${tx.now})
    returning *`
  return row! // an insert that does not throw returns its row
}

/** Without a project: the token is what tells which registration is meant. */
export const findRegistration = (db: Queryable, claim_token: string) => db.first<RegistrationRow>`
  select * from agent_registrations where claim_token_hash = ${hashOfSecret(claim_token)}`

/** Held until the transaction ends: whoever claims the same agent waits, and then sees that it is done. */
export const lockRegistration = (tx: Transaction, claim_token: string) => tx.first<RegistrationRow>`
  select * from agent_registrations where claim_token_hash = ${hashOfSecret(claim_token)} for update`

/** What the claim asks for now; what it asked for before is forgotten. */
export const setClaim = (tx: Transaction, id: RegistrationId, email: { address: string; key: string }, link: boolean) => tx.run`
  update agent_registrations set email = ${email.address}, email_key = ${email.key}, link = ${link} where id = ${id}`

interface ClaimEnd {
  id: RegistrationId
  user_id: UserId | null
  project_id: ProjectId | null
  claimed_by: UserId
  mode: 'merge' | 'link'
  merged_into: ProjectId | null
}

export const endClaim = (tx: Transaction, end: ClaimEnd) => tx.run`
  update agent_registrations set claimed_at = ${tx.now}, claimed_by = ${end.claimed_by}, mode = ${end.mode}, merged_into = ${end.merged_into},
    user_id = ${end.user_id}, project_id = ${end.project_id} where id = ${end.id}`

/** One that registers waits for those before it, so that all are counted. */
export const lockRegistrations = (tx: Transaction) => holdName(tx, 'agent registrations')

interface Counted {
  kind: RegistrationKind
  /** Null: from everywhere. */
  ip: string | null
  since: Date
  limit: number
}

/** The time of the registration that must be an hour old before the next may come; null while there are fewer than `limit`. */
export const findLimiting = async (tx: Transaction, { kind, ip, since, limit }: Counted): Promise<Date | null> => {
  const found = await tx.first<{ created_at: Date }>`
    select created_at from agent_registrations
    where kind = ${kind} and created_at > ${since} and (${ip}::text is null or ip = ${ip})
    order by created_at desc offset ${limit - 1} limit 1`
  return found?.created_at ?? null
}

/** A token that ended a week ago is forgotten, and with it the address that was asked. Until then it is told that it came too late. */
export const deleteExpired = (tx: Transaction) => tx.many<Pick<RegistrationRow, 'id' | 'project_id'>>`
  delete from agent_registrations where id in (
    select id from agent_registrations
    where claimed_at is null and claim_expires_at < ${tx.now}::timestamptz - interval '7 days' limit 1000)
  returning id, project_id`

/** Projects that were merged of late: what was still under way there may have been left behind. */
export const findRecentMerges = (db: Queryable, since: Date) => db.many<{ from: ProjectId; to: ProjectId }>`
  select project_id as from, merged_into as to from agent_registrations
  where merged_into is not null and project_id is not null and claimed_at > ${since}`

/** Where the things of a project are now, for links that were sent before a merge. */
export const findProjectNow = async (db: Queryable, project_id: ProjectId): Promise<ProjectId> =>
  (await findHomes(db, [project_id])).get(project_id) ?? project_id
