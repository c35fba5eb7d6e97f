import type { ProjectId } from '../base/ids.ts'
import type { Secrets } from '../base/secrets.ts'
import type { Queryable, Transaction } from '../database/database.ts'
import type { DkimAlgorithm, DkimKey } from '../mail/dkim/sign.ts'
import { insertKey, makeKeys } from './signing-keys.ts'

/**
 * Keys of domains that belong to projects. One is `pending` until its record has been seen in DNS, signs while it is `active`, and is
 * `retired` when another has taken its place. Two projects may both have pending keys for a domain; active ones has who verified it.
 */
export interface DomainKey {
  id: string
  algorithm: DkimAlgorithm
  status: 'pending' | 'active'
  created_at: Date
  /** What belongs into DNS. */
  name: string
  value: string
}

export interface KeyedDomain {
  project_id: ProjectId
  domain: string
}

/** RSA first: every receiver reads it. Of one algorithm, the one in use first. */
export const domainKeys = (db: Queryable, { project_id, domain }: KeyedDomain) => db.many<DomainKey>`
  select id, algorithm, status, created_at, selector || '._domainkey.' || domain as name, public_key as value from dkim_keys
  where project_id = ${project_id} and domain = ${domain} and status in ('pending', 'active') order by algorithm desc, status, created_at`

const both: DkimAlgorithm[] = ['rsa-sha256', 'ed25519-sha256']

/** Before any transaction: computing them takes its time. */
export const makeDomainKeys = (): Promise<DkimKey[]> => makeKeys(both)

/** Those that somebody else has put there meanwhile stay. */
export async function addPendingKeys(
  services: { secrets: Secrets },
  tx: Transaction,
  { project_id, domain, keys }: KeyedDomain & { keys: DkimKey[] },
): Promise<void> {
  // A few letters of the project, that two with the same domain never hand out the same name.
  const suffix = `-${project_id.slice(-6)}`
  for (const key of keys) await insertKey(services, tx, { project_id, domain, key, status: 'pending', suffix })
}

/** Signs from now on; the one before it has done its work, and its record stays a while for mail that is on its way. */
export async function activateKey(
  tx: Transaction,
  { project_id, domain }: KeyedDomain,
  key: Pick<DomainKey, 'id' | 'algorithm'>,
): Promise<void> {
  await tx.run`
    update dkim_keys set status = 'retired', retired_at = ${tx.now}
    where project_id = ${project_id} and domain = ${domain} and algorithm = ${key.algorithm} and status = 'active' and id <> ${key.id}`
  await tx.run`update dkim_keys set status = 'active' where project_id = ${project_id} and domain = ${domain} and id = ${key.id} and status = 'pending'`
}

/** Signs no more until its record is seen again; one that a newer key waits to replace goes. All of the domain, or one algorithm. */
export async function restKeys(tx: Transaction, { project_id, domain }: KeyedDomain, algorithms: DkimAlgorithm[] = both): Promise<void> {
  await tx.run`
    update dkim_keys k set status = 'retired', retired_at = ${tx.now}
    where project_id = ${project_id} and domain = ${domain} and algorithm = any(${algorithms}::text[]) and status = 'active' and exists (
      select 1 from dkim_keys n where n.project_id = k.project_id and n.domain = k.domain and n.algorithm = k.algorithm and n.status = 'pending')`
  await tx.run`
    update dkim_keys set status = 'pending'
    where project_id = ${project_id} and domain = ${domain} and algorithm = any(${algorithms}::text[]) and status = 'active'`
}

/** Of a domain that is given up: what has never signed is nobody's business, the rest is kept as retired. */
export async function dropKeys(tx: Transaction, { project_id, domain }: KeyedDomain, { hasSigned }: { hasSigned: boolean }): Promise<void> {
  if (hasSigned)
    await tx.run`
      update dkim_keys set status = 'retired', retired_at = ${tx.now}
      where project_id = ${project_id} and domain = ${domain} and status in ('pending', 'active')`
  else await tx.run`delete from dkim_keys where project_id = ${project_id} and domain = ${domain} and status <> 'retired'`
}
