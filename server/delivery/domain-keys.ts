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
  await tx.run`
    update dkim_keys set status = 'active', activated_at = coalesce(activated_at, ${tx.now})
    where project_id = ${project_id} and domain = ${domain} and id = ${key.id} and status = 'pending'`
}

/**
 * Those of a domain that is lost sign no more until their records are seen again. A key that was to replace one of them goes: whoever
 * puts the records back as they were has the domain back.
 */
export async function restKeys(tx: Transaction, { project_id, domain }: KeyedDomain): Promise<void> {
  await tx.run`
    delete from dkim_keys n where project_id = ${project_id} and domain = ${domain} and status = 'pending' and exists (
      select 1 from dkim_keys k where k.project_id = n.project_id and k.domain = n.domain and k.algorithm = n.algorithm and k.status = 'active')`
  await tx.run`update dkim_keys set status = 'pending' where project_id = ${project_id} and domain = ${domain} and status = 'active'`
}

/** One that the domain can do without signs no more until its record is seen again; if a newer key waits to replace it, it goes. */
export async function restKey(tx: Transaction, { project_id, domain }: KeyedDomain, { id, algorithm }: DomainKey): Promise<void> {
  await tx.run`
    update dkim_keys k set status = n.status, retired_at = n.retired_at
    from (
      select case when count(*) = 0 then 'pending' else 'retired' end as status, case when count(*) > 0 then ${tx.now}::timestamptz end as retired_at
      from dkim_keys where project_id = ${project_id} and domain = ${domain} and algorithm = ${algorithm} and status = 'pending'
    ) n
    where k.project_id = ${project_id} and k.domain = ${domain} and k.id = ${id} and k.status = 'active'`
}

/** Of a domain that is given up: what has never signed is nobody's business, the rest is kept as retired. */
export async function dropKeys(tx: Transaction, { project_id, domain }: KeyedDomain): Promise<void> {
  await tx.run`
    delete from dkim_keys where project_id = ${project_id} and domain = ${domain} and status <> 'retired' and activated_at is null`
  await tx.run`
    update dkim_keys set status = 'retired', retired_at = ${tx.now} where project_id = ${project_id} and domain = ${domain} and status <> 'retired'`
}
