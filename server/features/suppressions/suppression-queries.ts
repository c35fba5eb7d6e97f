import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import { parseAddress } from '../../mail/address.ts'
import { addressHash, type SuppressionRow } from './suppression.ts'

export const findSuppression = (db: Queryable, project_id: ProjectId, email_key: string) => db.first<SuppressionRow>`
  select * from suppressions where project_id = ${project_id} and address_hash = ${addressHash(project_id, email_key)}`

/** Of many addresses, those that get no more mail, and why. One look for all: an import asks for thousands. */
export async function findSuppressions(
  db: Queryable,
  project_id: ProjectId,
  email_keys: string[],
): Promise<Map<string, SuppressionRow['reason']>> {
  // Most projects have none: hashing a million addresses to learn that would be a waste.
  const any = await db.first`select 1 from suppressions where project_id = ${project_id} limit 1`
  if (!any) return new Map()
  const keyOf = new Map(email_keys.map((key) => [addressHash(project_id, key).toString('hex'), key]))
  const rows = await db.many<SuppressionRow>`
    select address_hash, reason from suppressions where project_id = ${project_id} and address_hash = any(${[...keyOf.keys()].map((hex) => Buffer.from(hex, 'hex'))}::bytea[])`
  return new Map(rows.map((row) => [keyOf.get(row.address_hash.toString('hex')) as string, row.reason]))
}

interface SuppressionFilter {
  project_id: ProjectId
  reason?: SuppressionRow['reason'] | undefined
  email_key?: string | undefined
  /** Where the page before ended. */
  after: Pick<SuppressionRow, 'created_at' | 'address_hash'> | null
  limit: number
}

/** Newest first. Every page costs the same: it starts where the one before ended, by key. */
export const pageSuppressions = (
  db: Queryable,
  { project_id, reason, email_key, after, limit }: SuppressionFilter,
) => db.many<SuppressionRow>`
  select * from suppressions where project_id = ${project_id}
    ${reason === undefined ? nothing : sql`and reason = ${reason}`}
    ${email_key === undefined ? nothing : sql`and address_hash = ${addressHash(project_id, email_key)}`}
    ${after === null ? nothing : sql`and (created_at, address_hash) < (${after.created_at}::timestamptz, ${after.address_hash}::bytea)`}
  order by created_at desc, address_hash desc limit ${limit}`

interface NewSuppression {
  project_id: ProjectId
  email: { address: string; key: string }
  reason: SuppressionRow['reason']
  detail: string | null
}

/** One that is there is answered as it is. The update changes nothing: it holds the row, so that it cannot go before it is read. */
export const addSuppression = (tx: Transaction, { project_id, email, reason, detail }: NewSuppression) => tx.first<SuppressionRow>`
  insert into suppressions (project_id, address_hash, email, reason, detail, created_at)
  values (${project_id}, ${addressHash(project_id, email.key)}, ${email.address}, ${reason}, ${detail}, ${tx.now})
  on conflict (project_id, address_hash) do update set address_hash = excluded.address_hash
  returning *`

/** Of somebody who is to be forgotten only the hash stays. Why they were suppressed before says nothing of who they are. */
export const suppressErased = (tx: Transaction, project_id: ProjectId, email_key: string) => tx.run`
  insert into suppressions (project_id, address_hash, email, reason, detail, created_at)
  values (${project_id}, ${addressHash(project_id, email_key)}, null, 'erased', null, ${tx.now})
  on conflict (project_id, address_hash) do update set email = null, detail = null`

/** The number of rows removed: 1 or 0. */
export const removeSuppression = (tx: Transaction, project_id: ProjectId, email_key: string) => tx.run`
  delete from suppressions where project_id = ${project_id} and address_hash = ${addressHash(project_id, email_key)}`

/**
 * One project's suppressions into another's, for when the two become one; what is there already stays. The hash is salted with the
 * project, so it is made anew from the address. Of somebody who was erased there is no address any more: their row cannot follow.
 */
export async function joinSuppressions(tx: Transaction, { from, to }: { from: ProjectId; to: ProjectId }): Promise<void> {
  const rows = await tx.many<SuppressionRow & { email: string }>`
    delete from suppressions where project_id = ${from} and email is not null returning *`
  if (rows.length === 0) return
  const moved = rows.map((row) => ({ ...row, address_hash: addressHash(to, keyOf(row.email)).toString('hex') }))
  await tx.run`
    insert into suppressions (project_id, address_hash, email, reason, detail, created_at)
    select ${to}, decode(address_hash, 'hex'), email, reason, detail, created_at
    from json_to_recordset(${JSON.stringify(moved)}) as row (address_hash text, email text, reason text, detail text, created_at timestamptz)
    on conflict (project_id, address_hash) do nothing`
}

/** An address that was stored was parsed before. */
function keyOf(address: string): string {
  const parsed = parseAddress(address)
  return parsed.ok ? parsed.value.key : address.toLowerCase()
}
