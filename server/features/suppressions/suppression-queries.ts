import type { ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
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
