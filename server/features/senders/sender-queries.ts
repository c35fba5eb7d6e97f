import type { PostId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'
import type { Turn } from '../dns-records/index.ts'
import type { Diagnosis } from './diagnose.ts'
import type { DomainState, SenderDomainRow } from './sender-domain.ts'

export interface DomainKeyParts {
  project_id: ProjectId
  domain: string
}

export const findDomain = (db: Queryable, { project_id, domain }: DomainKeyParts) => db.first<SenderDomainRow>`
  select * from sender_domains where project_id = ${project_id} and domain = ${domain}`

export const lockDomain = (tx: Transaction, { project_id, domain }: DomainKeyParts) => tx.first<SenderDomainRow>`
  select * from sender_domains where project_id = ${project_id} and domain = ${domain} for update`

/** Of all projects: whoever makes a domain theirs, sets it up or gives it up, does so one after the other. */
export const holdDomain = (tx: Transaction, domain: string) => holdName(tx, `sender domain ${domain}`)

/** In one order: two lists that swap their domains never wait for each other. */
export async function holdDomains(tx: Transaction, domains: string[]): Promise<void> {
  for (const domain of [...new Set(domains)].sort()) await holdDomain(tx, domain)
}

export const countDomains = async (db: Queryable, project_id: ProjectId): Promise<number> =>
  (await db.first<{ count: number }>`select count(*) as count from sender_domains where project_id = ${project_id}`)?.count ?? 0

export const insertDomain = (tx: Transaction, { project_id, domain }: DomainKeyParts) => tx.run`
  insert into sender_domains (project_id, domain, created_at, pending_since, next_check_at)
  values (${project_id}, ${domain}, ${tx.now}, ${tx.now}, ${tx.now})`

export const saveState = (tx: Transaction, { project_id, domain }: DomainKeyParts, state: DomainState) => tx.run`
  update sender_domains set status = ${state.status}, pending_since = ${state.pending_since}, verified_at = ${state.verified_at},
    failing_since = ${state.failing_since}, missed_checks = ${state.missed_checks}, conflict_since = ${state.conflict_since}, trouble = ${state.trouble}
  where project_id = ${project_id} and domain = ${domain}`

interface Checked {
  findings: Diagnosis
  next_check_at: Date
}

export const saveCheck = (tx: Transaction, { project_id, domain }: DomainKeyParts, { findings, next_check_at }: Checked) => tx.run`
  update sender_domains set findings = ${JSON.stringify(findings)}, last_checked_at = ${tx.now}, next_check_at = ${next_check_at}
  where project_id = ${project_id} and domain = ${domain}`

export const checkSoon = (tx: Transaction, { project_id, domain }: DomainKeyParts) => tx.run`
  update sender_domains set next_check_at = ${tx.now} where project_id = ${project_id} and domain = ${domain}`

/** Whether another project has it at this moment. */
export const isTaken = async (tx: Transaction, { project_id, domain }: DomainKeyParts): Promise<boolean> =>
  (await tx.first`select 1 from sender_domains where domain = ${domain} and status = 'verified' and project_id <> ${project_id}`) !== null

/**
 * Whoever has the domain gives its addresses away. Mailboxes that others have made there keep what is in them, and are found by their ids
 * alone, until the domain is theirs again.
 */
export async function takeAddresses(tx: Transaction, { project_id, domain }: DomainKeyParts): Promise<void> {
  await tx.run`
    update mailboxes set address_key = lower(address) || '#' || id
    where split_part(address, '@', 2) = ${domain} and deleted_at is null and project_id <> ${project_id} and address_key = lower(address)`
  // Two of one address come together when two projects become one.
  await tx.run`
    update mailboxes m set address_key = lower(address)
    where split_part(address, '@', 2) = ${domain} and deleted_at is null and project_id = ${project_id} and address_key <> lower(address)
      and not exists (
        select 1 from mailboxes o
        where split_part(o.address, '@', 2) = ${domain} and o.deleted_at is null and o.project_id = ${project_id} and lower(o.address) = lower(m.address)
          and (o.address_key = lower(o.address) or o.id < m.id))`
}

/** By a list, by a mailbox at it, or by a post that is on its way. */
export const isUsed = async (db: Queryable, { project_id, domain }: DomainKeyParts): Promise<boolean> =>
  (await db.first`
    select 1 from lists where project_id = ${project_id} and sender_domain = ${domain} and deleted_at is null
    union all select 1 from mailboxes
      where project_id = ${project_id} and deleted_at is null and split_part(address, '@', 2) = ${domain}
    union all select 1 from broadcasts
      where project_id = ${project_id} and from_domain = ${domain} and status in ('sending', 'paused') and finished_at is null
    limit 1`) !== null

export const hasMailbox = async (db: Queryable, { project_id, domain }: DomainKeyParts): Promise<boolean> =>
  (await db.first`
    select 1 from mailboxes where project_id = ${project_id} and deleted_at is null and split_part(address, '@', 2) = ${domain} limit 1`) !==
  null

export const removeDomain = (tx: Transaction, { project_id, domain }: DomainKeyParts) => tx.run`
  delete from sender_domains where project_id = ${project_id} and domain = ${domain}`

/**
 * Takes those that are due, the longest overdue first and two of a project at most, and puts them off by a few minutes: a process that
 * dies in between loses no more than that.
 */
export const claimDue = (db: Queryable, { now, limit, busy }: Turn) => db.many<DomainKeyParts>`
  update sender_domains d set next_check_at = ${now}::timestamptz + interval '5 minutes'
  from (
    select s.project_id, s.domain from sender_domains s join (
      select s.project_id, s.domain, row_number() over (partition by s.project_id order by s.next_check_at) as place
      from sender_domains s join projects p on p.id = s.project_id and p.deleted_at is null
      where s.next_check_at <= ${now} and s.project_id <> all(${busy}::uuid[])
    ) next on next.project_id = s.project_id and next.domain = s.domain and next.place <= 2
    where s.next_check_at <= ${now} order by s.next_check_at limit ${limit} for update of s skip locked
  ) due
  where d.project_id = due.project_id and d.domain = due.domain
  returning d.project_id, d.domain`

/** Posts whose broadcasts were held or let go, as far as their lists are still there. */
export const findPostKeys = (db: Queryable, project_id: ProjectId, post_ids: PostId[]) => db.many<{ list_id: string; post_id: PostId }>`
  select list_id, id as post_id from posts where project_id = ${project_id} and id = any(${post_ids}::uuid[]) order by id`
