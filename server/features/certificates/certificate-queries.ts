import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { type Bound, type CertificateRow, type ChallengeKind, mostOrdersAnHour } from './certificate.ts'

/** Null is this installation itself. */
export interface CertificateKey {
  project_id: ProjectId | null
  host: string
}

export interface WantedCertificate extends CertificateKey {
  /** Where the host must lead before the authority is asked to look there. Null: anywhere. */
  target: string | null
  challenges: ChallengeKind[]
}

/** A host that passes to another project keeps its certificate: the key is ours, and the host leads to the same place. Nothing is proved by it. */
export const upsertCertificate = (tx: Transaction, { project_id, host, target, challenges }: WantedCertificate) => tx.run`
  insert into certificates (host, project_id, target, challenges, step_since, due_at, created_at)
  values (${host}, ${project_id}, ${target}, ${challenges}, ${tx.now}, ${tx.now}, ${tx.now})
  on conflict (host) do update set project_id = excluded.project_id, target = excluded.target, challenges = excluded.challenges,
    is_proved = certificates.is_proved and certificates.project_id is not distinct from excluded.project_id,
    failures = 0, problem = null, warnings = 0
  where (certificates.project_id, certificates.target, certificates.challenges)
    is distinct from (excluded.project_id, excluded.target, excluded.challenges)`

/** An order that is proved by a TXT record, for somebody else: they were told its value. */
export const deleteToldOrder = (tx: Transaction, { project_id, host }: CertificateKey) => tx.many<LeftOrder>`
  delete from certificates
  where host = ${host} and project_id is distinct from ${project_id} and chain is null and 'dns-01' = any(challenges)
  returning host, ordered`

/** What a certificate that is gone leaves at the authority. */
export type LeftOrder = Pick<CertificateRow, 'host' | 'ordered'>

/** Whether an order that is open, or the certificate that is served, rests on it: somebody has ordered the host again. */
export const isAuthorizationWanted = async (
  db: Queryable,
  { host, authorization }: { host: string; authorization: string },
): Promise<boolean> =>
  (await db.first`select 1 from certificates where host = ${host} and ordered->>'authorization' = ${authorization}`) !== null

export const isCertificateOfOther = async (db: Queryable, { project_id, host }: CertificateKey): Promise<boolean> =>
  (await db.first`select 1 from certificates where host = ${host} and project_id is distinct from ${project_id}`) !== null

/** What is there already stays as it is. */
export const insertWanted = async (tx: Transaction, { project_id, host, target, challenges }: WantedCertificate): Promise<boolean> =>
  (await tx.run`
    insert into certificates (host, project_id, target, challenges, step_since, due_at, created_at)
    values (${host}, ${project_id}, ${target}, ${challenges}, ${tx.now}, ${tx.now}, ${tx.now}) on conflict (host) do nothing`) > 0

interface Share {
  person_id: UserId
  /** Who runs this installation. */
  is_operator: boolean
  ordered: number
  ordered_by_all: number
}

/** What the person whose project this is has ordered below our own host; an agent is its human's. */
export const findShare = (db: Queryable, { project_id, since }: { project_id: ProjectId; since: Date }) => db.first<Share>`
  select person.id as person_id,
    person.id = (select p.owner_id from instance i join projects p on p.id = i.owner_project_id) as is_operator,
    (select count(*) from subdomain_orders where ordered_at > ${since} and person_id = person.id) as ordered,
    (select count(*) from subdomain_orders where ordered_at > ${since}) as ordered_by_all
  from (select coalesce(u.parent_id, u.id) as id from projects p join users u on u.id = p.owner_id where p.id = ${project_id}) person`

export const insertSubdomainOrder = (tx: Transaction, { host, person_id }: { host: string; person_id: UserId }) => tx.run`
  insert into subdomain_orders (host, person_id, ordered_at) values (${host}, ${person_id}, ${tx.now})`

export const deleteSubdomainOrders = (tx: Transaction, { before }: { before: Date }) => tx.run`
  delete from subdomain_orders where ordered_at <= ${before}`

export interface Progress {
  is_issued: boolean
  failures: number
  due_at: Date
}

/** By host alone, as a handshake names it. */
export const findProgress = (db: Queryable, host: string) => db.first<Progress>`
  select chain is not null as is_issued, failures, due_at from certificates where host = ${host}`

export const findRow = (db: Queryable, { project_id, host }: CertificateKey) => db.first<CertificateRow>`
  select * from certificates where host = ${host} and project_id is not distinct from ${project_id}`

export const deleteCertificate = (tx: Transaction, { project_id, host }: CertificateKey) => tx.many<LeftOrder>`
  delete from certificates where host = ${host} and project_id is not distinct from ${project_id} returning host, ordered`

export const setDue = (tx: Transaction, { host, due_at }: { host: string; due_at: Date }) => tx.run`
  update certificates set due_at = ${due_at} where host = ${host} and due_at > ${due_at}`

export const findBound = (db: Queryable, host: string) => db.first<Bound>`
  select begun_at, held_until from certificate_bounds where host = ${host}`

/**
 * Counts an order, whether or not its certificate is still wanted by now. It is remembered for longer than authorities keep what nobody has proved:
 * who orders next must know that somebody else may have been told the same value (place-order.ts).
 */
export async function noteOrder(db: Database, { host, now }: { host: string; now: Date }): Promise<void> {
  await db.run`delete from certificate_bounds where kept_until <= ${now}`
  await db.run`
    insert into certificate_bounds (host, begun_at, kept_until) values (${host}, array[${now}::timestamptz], ${now}::timestamptz + interval '35 days')
    on conflict (host) do update set
      begun_at = (certificate_bounds.begun_at || excluded.begun_at)[greatest(1, cardinality(certificate_bounds.begun_at) + 2 - ${mostOrdersAnHour}::integer):],
      kept_until = greatest(certificate_bounds.kept_until, excluded.kept_until)`
}

export const noteHold = (db: Queryable, { host, held_until }: { host: string; held_until: Date }) => db.run`
  insert into certificate_bounds (host, held_until, kept_until)
  values (${host}, ${held_until}, ${held_until}::timestamptz + interval '1 day')
  on conflict (host) do update set held_until = excluded.held_until, kept_until = greatest(certificate_bounds.kept_until, excluded.kept_until)`

/** Hosts of this installation that its settings do not name any more. */
export const deleteOtherOwn = (tx: Transaction, hosts: string[]) => tx.run`
  delete from certificates where project_id is null and not (host = any(${hosts}))`

/** They go with what a merge moves: a host is known by its name, so nothing can clash. */
export const moveCertificates = (tx: Transaction, { from, to }: { from: ProjectId; to: ProjectId }) => tx.run`
  update certificates set project_id = ${to} where project_id = ${from}`

interface Claim {
  now: Date
  owner: string
  leaseSeconds: number
  limit: number
}

/** What is due, for one process alone until its lease is over. */
export const claimDue = (db: Database, { now, owner, leaseSeconds, limit }: Claim) => db.many<CertificateRow>`
  update certificates set lease_owner = ${owner}, leased_until = now() + ${leaseSeconds}::integer * interval '1 second'
  where host = any(array(
    select host from certificates
    where due_at <= ${now} and (leased_until is null or leased_until < now())
    order by due_at limit ${limit} for update skip locked))
  returning *`

/** False when the lease has passed to another, or the certificate is not wanted any more. What was proved was so for the project of that moment. */
export const saveTurn = async (tx: Transaction, row: CertificateRow, owner: string): Promise<boolean> =>
  (await tx.run`
    update certificates set
      private_key = ${row.private_key}, chain = ${row.chain}, not_before = ${row.not_before}, not_after = ${row.not_after},
      issued_at = ${row.issued_at}, renew_at = ${row.renew_at},
      is_proved = ${row.is_proved}::boolean and project_id is not distinct from ${row.project_id}::uuid, step = ${row.step}, step_since = ${row.step_since},
      ordered = ${row.ordered === null ? null : JSON.stringify(row.ordered)}, order_key = ${row.order_key}, due_at = ${row.due_at},
      held_until = ${row.held_until}, failures = ${row.failures}, failed_at = ${row.failed_at}, begun_at = ${row.begun_at},
      troubles = ${row.troubles}, problem = ${row.problem}, warnings = ${row.warnings}, lease_owner = null, leased_until = null
    where host = ${row.host} and lease_owner = ${owner}`) > 0

/** For who stops in the middle of it: another may take it at once. */
export const releaseTurn = (db: Queryable, host: string, owner: string) => db.run`
  update certificates set lease_owner = null, leased_until = null where host = ${host} and lease_owner = ${owner}`

export const insertChallenge = (
  tx: Transaction,
  { token, host, key_authorization }: { token: string; host: string; key_authorization: string },
) =>
  tx.run`
    insert into acme_challenges (token, host, key_authorization, created_at) values (${token}, ${host}, ${key_authorization}, ${tx.now})
    on conflict (token) do nothing`

export const deleteChallenges = (tx: Transaction, host: string) => tx.run`delete from acme_challenges where host = ${host}`

/** Whoever asks: the authority comes without a credential, and the token is the proof that it was told of it. */
export const findChallenge = (db: Queryable, token: string) => db.first<{ key_authorization: string }>`
  select key_authorization from acme_challenges where token = ${token}`

export interface AccountRow {
  directory: string
  private_key: Buffer
  url: string | null
}

/** The one that was there first counts: two processes that begin at once share it. */
export async function keepAccount(
  db: Database,
  { directory, private_key, now }: { directory: string; private_key: Buffer; now: Date },
): Promise<AccountRow> {
  return db.transaction(async (tx) => {
    await tx.run`
      insert into acme_accounts (directory, private_key, created_at) values (${directory}, ${private_key}, ${now})
      on conflict (directory) do nothing`
    return (await findAccount(tx, directory))! // put there above
  })
}

export const findAccount = (db: Queryable, directory: string) => db.first<AccountRow>`
  select directory, private_key, url from acme_accounts where directory = ${directory}`

export const setAccountUrl = (db: Queryable, { directory, url }: { directory: string; url: string | null }) => db.run`
  update acme_accounts set url = ${url} where directory = ${directory}`

export interface ServedRow {
  private_key: Buffer
  chain: string
  issued_at: Date
}

/** By host alone, as a handshake names it. */
export const findServed = (db: Queryable, host: string) => db.first<ServedRow>`
  select private_key, chain, issued_at from certificates where host = ${host} and chain is not null`
