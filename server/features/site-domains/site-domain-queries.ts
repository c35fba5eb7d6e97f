import { type ListId, lowestIdSince, type ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'
import { zoneOf } from '../../mail/domain-name.ts'
import type { Findings, Turn } from '../dns-records/index.ts'
import type { ListKey } from '../lists/index.ts'
import type { DomainState, SiteDomainRow } from './site-domain.ts'

export const findDomain = (db: Queryable, { project_id, list_id }: ListKey) => db.first<SiteDomainRow>`
  select * from site_domains where project_id = ${project_id} and list_id = ${list_id}`

export const lockDomain = (tx: Transaction, { project_id, list_id }: ListKey) => tx.first<SiteDomainRow>`
  select * from site_domains where project_id = ${project_id} and list_id = ${list_id} for update`

/** Of all projects: whoever has to do with a domain, or a name below it, does so one after the other. */
export const holdZone = (tx: Transaction, domain: string) => holdName(tx, `site domain ${zoneOf(domain)}`)

/** By the zones, which is what is held: two who want the same ones never wait for each other. */
export async function holdZones(tx: Transaction, domains: string[]): Promise<void> {
  for (const zone of [...new Set(domains.map(zoneOf))].sort()) await holdZone(tx, zone)
}

export const insertDomain = (
  tx: Transaction,
  {
    project_id,
    list_id,
    domain,
    www_enabled,
    proved_by,
  }: Pick<SiteDomainRow, 'project_id' | 'list_id' | 'domain' | 'www_enabled' | 'proved_by'>,
) => tx.run`
  insert into site_domains (project_id, list_id, domain, www_enabled, proved_by, created_at, pending_since, next_check_at)
  values (${project_id}, ${list_id}, ${domain}, ${www_enabled}, ${proved_by}, ${tx.now}, ${tx.now}, ${tx.now})`

export const saveState = (tx: Transaction, { project_id, list_id }: ListKey, state: DomainState) => tx.run`
  update site_domains set status = ${state.status}, pending_since = ${state.pending_since}, failing_since = ${state.failing_since},
    missed_checks = ${state.missed_checks}, trouble = ${state.trouble}
  where project_id = ${project_id} and list_id = ${list_id}`

interface Checked extends Pick<SiteDomainRow, 'proved_by' | 'challenge' | 'next_check_at'> {
  findings: Findings
}

export const saveCheck = (tx: Transaction, { project_id, list_id }: ListKey, checked: Checked) => tx.run`
  update site_domains set findings = ${JSON.stringify(checked.findings)}, proved_by = ${checked.proved_by}, challenge = ${checked.challenge},
    last_checked_at = ${tx.now}, next_check_at = ${checked.next_check_at}
  where project_id = ${project_id} and list_id = ${list_id}`

/** What its owner has chosen, or shown, with a new look at once. */
export const saveChoice = (
  tx: Transaction,
  { project_id, list_id, www_enabled, proved_by }: Pick<SiteDomainRow, 'project_id' | 'list_id' | 'www_enabled' | 'proved_by'>,
) => tx.run`
  update site_domains set www_enabled = ${www_enabled}, proved_by = ${proved_by}, next_check_at = ${tx.now}
  where project_id = ${project_id} and list_id = ${list_id}`

/** Another has shown that it is theirs: what this one has shown before counts no more. */
export const saveMoved = (tx: Transaction, { project_id, list_id }: ListKey) => tx.run`
  update site_domains set status = 'failed', trouble = 'moved', failing_since = null, missed_checks = 0,
    proved_by = null, challenge = null, findings = findings - 'proof', next_check_at = null
  where project_id = ${project_id} and list_id = ${list_id}`

/** Those who gave up waiting for the domain do not take it from whoever has it now: only when they ask. */
export const saveFailedMoved = (tx: Transaction, { project_id, list_id, host }: ListKey & { host: string }) => tx.many<SiteDomainRow>`
  update site_domains set trouble = 'moved', proved_by = null, challenge = null, findings = findings - 'proof', next_check_at = null
  where domain = ${host} and status = 'failed' and (project_id, list_id) <> (${project_id}, ${list_id}) returning *`

export const removeDomain = (tx: Transaction, { project_id, list_id }: ListKey) => tx.run`
  delete from site_domains where project_id = ${project_id} and list_id = ${list_id}`

export const countDomains = async (db: Queryable, project_id: ProjectId): Promise<number> =>
  (await db.first<{ count: number }>`select count(*) as count from site_domains where project_id = ${project_id}`)?.count ?? 0

/** How often domains were connected lately, whatever became of them, in all projects of one person; an agent's are its human's. */
export const countConnected = async (db: Queryable, project_id: ProjectId, since: Date): Promise<number> =>
  (
    await db.first<{ count: number }>`
      select count(*) as count from audit_log
      where id >= ${lowestIdSince(since)} and operation = 'site_domains.connect' and project_id in (
        select p.id from projects p join users u on u.id = p.owner_id
        where coalesce(u.parent_id, u.id) = (
          select coalesce(own.parent_id, own.id) from projects mine join users own on own.id = mine.owner_id where mine.id = ${project_id}))`
  )?.count ?? 0

/** The other list of the project that has one of the hosts, or wants it. One that has failed has no use for www. */
export const findOtherList = (tx: Transaction, { project_id, list_id }: ListKey, hosts: string[]) => tx.first<{
  name: string
  host: string
}>`
  select l.name, case when d.domain = any(${hosts}) then d.domain else 'www.' || d.domain end as host
  from site_domains d join lists l on l.project_id = d.project_id and l.id = d.list_id and l.deleted_at is null
  where d.project_id = ${project_id} and d.list_id <> ${list_id}
    and (d.domain = any(${hosts}) or d.www_enabled and d.status <> 'failed' and 'www.' || d.domain = any(${hosts}))
  limit 1`

/** Whether another project's site is at the host at this moment. */
export const isInUse = async (db: Queryable, { project_id, host }: { project_id: ProjectId; host: string }): Promise<boolean> =>
  (await db.first`
    select 1 from site_hosts h join site_domains d on d.project_id = h.project_id and d.list_id = h.list_id and d.status = 'active'
    join lists l on l.project_id = h.project_id and l.id = h.list_id and l.deleted_at is null
    join projects p on p.id = h.project_id and p.deleted_at is null
    where h.host = ${host} and h.project_id <> ${project_id}`) !== null

/** Whether another list has shown that the host is its own. */
export const isHeldByOther = async (db: Queryable, { list_id, host }: { list_id: ListId; host: string }): Promise<boolean> =>
  (await db.first`select 1 from site_hosts where host = ${host} and list_id <> ${list_id}`) !== null

/** The list has the host from now on; answers whose it was, and whether it has it only now. */
export async function takeHost(
  tx: Transaction,
  { project_id, list_id, host }: ListKey & { host: string },
): Promise<{ former: ListKey | null; isNew: boolean }> {
  const former = await tx.first<ListKey>`
    delete from site_hosts where host = ${host} and (project_id, list_id) <> (${project_id}, ${list_id}) returning project_id, list_id`
  const added = await tx.run`
    insert into site_hosts (host, project_id, list_id) values (${host}, ${project_id}, ${list_id}) on conflict (host) do nothing`
  return { former, isNew: added > 0 }
}

export const leaveHost = (tx: Transaction, { project_id, list_id, host }: ListKey & { host: string }) => tx.run`
  delete from site_hosts where host = ${host} and project_id = ${project_id} and list_id = ${list_id}`

/**
 * Takes those that are due, the longest overdue first and two of a project at most, and puts them off by a few minutes: a process that
 * dies in between loses no more than that.
 */
export const claimDue = (db: Queryable, { now, limit, busy }: Turn) => db.many<ListKey & { domain: string }>`
  update site_domains d set next_check_at = ${now}::timestamptz + interval '5 minutes'
  from (
    select s.project_id, s.list_id from site_domains s join (
      select s.project_id, s.list_id, row_number() over (partition by s.project_id order by s.next_check_at) as place
      from site_domains s
      join projects p on p.id = s.project_id and p.deleted_at is null
      join lists l on l.project_id = s.project_id and l.id = s.list_id and l.deleted_at is null
      where s.next_check_at <= ${now} and s.project_id <> all(${busy}::uuid[])
    ) next on next.project_id = s.project_id and next.list_id = s.list_id and next.place <= 2
    where s.next_check_at <= ${now} order by s.next_check_at limit ${limit} for update of s skip locked
  ) due
  where d.project_id = due.project_id and d.list_id = due.list_id
  returning d.project_id, d.list_id, d.domain`

/** The name of the list whose site a host is, by its own domain; null when it is nobody's. */
export const findSiteByHost = async (db: Queryable, host: string): Promise<string | null> =>
  (
    await db.first<{ subdomain: string }>`
      select l.subdomain from site_hosts h
      join site_domains d on d.project_id = h.project_id and d.list_id = h.list_id and d.status = 'active'
      join lists l on l.project_id = h.project_id and l.id = h.list_id and l.deleted_at is null
      join projects p on p.id = h.project_id and p.deleted_at is null
      where h.host = ${host}`
  )?.subdomain ?? null
