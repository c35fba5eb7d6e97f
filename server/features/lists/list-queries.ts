import type { z } from 'zod'
import type { ListId, MailboxId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { ListRow, ListSummaryRow, ListType } from './list.ts'

export interface ListKey {
  project_id: ProjectId
  list_id: ListId
}

/** Counts come from the counters, never from the subscribers: they cost the same at a thousand and at a million. */
const columns = sql`
  l.*, m.address as mailbox_address, d.status as sender_domain_status, d.verified_at as sender_verified_at, s.domain as site_domain,
  (select w.started_at from warm_ups w where w.project_id = l.project_id
    and w.domain = case when d.status = 'verified' then d.domain else substring(m.address_key from '[^@]+$') end) as warming_since,
  (select coalesce(sum(c.active), 0)::bigint from list_counters c where c.project_id = l.project_id and c.list_id = l.id) as subscriber_count`
const fromLists = sql`
  from lists l join mailboxes m on m.project_id = l.project_id and m.id = l.mailbox_id
  left join sender_domains d on d.project_id = l.project_id and d.domain = l.sender_domain
  left join site_domains s on s.project_id = l.project_id and s.list_id = l.id and s.status = 'active'`

/** Another project's list is not found, never forbidden: the tenant is part of the key. */
export const findList = (db: Queryable, key: ListKey) => db.first<ListRow>`
  select ${columns} ${fromLists} where l.project_id = ${key.project_id} and l.id = ${key.list_id} and l.deleted_at is null`

/** The row is held until the transaction ends, so that two changes of one list take turns. */
export const lockList = (tx: Transaction, key: ListKey) => tx.first<ListRow>`
  select ${columns} ${fromLists} where l.project_id = ${key.project_id} and l.id = ${key.list_id} and l.deleted_at is null for update of l`

export const listExists = async (db: Queryable, key: ListKey): Promise<boolean> =>
  (await db.first`select 1 from lists where project_id = ${key.project_id} and id = ${key.list_id} and deleted_at is null`) !== null

export const findListType = async (db: Queryable, key: ListKey): Promise<z.output<typeof ListType> | null> =>
  (
    await db.first<Pick<ListRow, 'type'>>`
      select type from lists where project_id = ${key.project_id} and id = ${key.list_id} and deleted_at is null`
  )?.type ?? null

/** Of whichever project: who joins need not belong to it. */
export const findListOfAnyProject = (db: Queryable, list_id: ListId) => db.first<ListRow>`
  select ${columns} ${fromLists} where l.id = ${list_id} and l.deleted_at is null`

/** The list behind a public page. */
export const findListBySubdomain = (db: Queryable, subdomain: string) => db.first<ListRow>`
  select ${columns} ${fromLists} where l.subdomain = ${subdomain} and l.deleted_at is null`

/** True while the list is there, and it stays until the transaction ends: whoever deletes it waits. */
export const holdList = async (tx: Transaction, key: ListKey): Promise<boolean> =>
  (await tx.first`select 1 from lists where project_id = ${key.project_id} and id = ${key.list_id} and deleted_at is null for share`) !==
  null

/** What it sends from stays as it is until the transaction ends: whoever finds the domain lost waits, and then finds what was begun. */
export const holdSender = (tx: Transaction, key: ListKey) => tx.run`
  select 1 from lists l join sender_domains d on d.project_id = l.project_id and d.domain = l.sender_domain
  where l.project_id = ${key.project_id} and l.id = ${key.list_id} for share of d`

/** What waits on a list. Only posts that wait are looked at, each kind by an index that holds no others. */
const signals = sql`
  (select max(p.sent_at) from posts p where p.project_id = l.project_id and p.list_id = l.id and p.sent_at is not null) as last_sent_at,
  waiting.to_approve, waiting.scheduled, waiting.drafts,
  (select count(*) from broadcasts b where b.project_id = l.project_id and b.list_id = l.id and b.status in ('sending', 'paused')) as sending`
const joinWaiting = sql`
  cross join lateral (
    select count(*) filter (where p.status = 'scheduled') as scheduled, count(*) filter (where p.status = 'draft') as drafts,
      count(*) filter (where p.status = 'draft' and p.needs_approval) as to_approve
    from posts p
    where p.project_id = l.project_id and p.list_id = l.id and p.status in ('draft', 'scheduled') and not exists (
      select 1 from broadcasts b where b.project_id = p.project_id and b.id = p.broadcast_id and b.status in ('sending', 'paused'))
  ) waiting`

/** Newest first, after the list `after`. */
export const pageLists = (db: Queryable, project_id: ProjectId, after: string | null, limit: number) => db.many<ListSummaryRow>`
  select ${columns}, ${signals} ${fromLists} ${joinWaiting}
  where l.project_id = ${project_id} and l.deleted_at is null ${after === null ? nothing : sql`and l.id < ${after}`}
  order by l.id desc limit ${limit}`

/**
 * Of `base`, `base-2`, `base-3`, … those that are in use, here or as a mailbox's name, and those that somebody signs in with or is
 * invited by: who had that mailbox would get their codes. What was another project's until lately still gets their mail.
 */
export const takenSubdomains = (tx: Transaction, { base, mailDomain, project_id }: WantedName) => tx.many<{ subdomain: string }>`
  select subdomain from lists where deleted_at is null and (subdomain = ${base} or subdomain like ${`${base}-%`})
  union
  select split_part(address_key, '@', 1) from mailboxes
  where deleted_at is null and (address_key = ${`${base}@${mailDomain}`} or address_key like ${`${base}-%@${mailDomain}`})
  union
  select split_part(email_key, '@', 1) from users
  where email_key = ${`${base}@${mailDomain}`} or email_key like ${`${base}-%@${mailDomain}`}
  union
  select split_part(email_key, '@', 1) from invites
  where status = 'pending' and (email_key = ${`${base}@${mailDomain}`} or email_key like ${`${base}-%@${mailDomain}`})
  union
  select split_part(address_key, '@', 1) from retired_addresses
  where kept_until > ${tx.now} and kept_for <> ${project_id}
    and (address_key = ${`${base}@${mailDomain}`} or address_key like ${`${base}-%@${mailDomain}`})`

interface WantedName {
  base: string
  mailDomain: string
  project_id: ProjectId
}

interface NewListRow extends ListKey {
  name: string
  subdomain: string
  type: z.output<typeof ListType>
  description: string | null
  mailbox_id: MailboxId
}

export const insertList = (tx: Transaction, list: NewListRow) => tx.run`
  insert into lists (project_id, id, name, subdomain, type, description, mailbox_id, created_at, updated_at)
  values (${list.project_id}, ${list.list_id}, ${list.name}, ${list.subdomain}, ${list.type}, ${list.description}, ${list.mailbox_id}, ${tx.now}, ${tx.now})`

export const updateList = (tx: Transaction, list: ListRow) => tx.run`
  update lists set name = ${list.name}, description = ${list.description}, reply_to = ${list.reply_to},
    confirmation_message = ${list.confirmation_message}, postal_address = ${list.postal_address},
    track_opens = ${list.track_opens}, track_clicks = ${list.track_clicks},
    show_posts = ${list.show_posts}, show_subscriber_count = ${list.show_subscriber_count},
    language = ${list.language}, accent_color = ${list.accent_color}, logo_url = ${list.logo_url}, welcome_message = ${list.welcome_message}, footer = ${list.footer},
    waitlist_capacity = ${list.waitlist_capacity}, referral_boost = ${list.referral_boost}, waitlist_closed = ${list.waitlist_closed}, updated_at = ${tx.now}
  where project_id = ${list.project_id} and id = ${list.id}`

/** The address that it sends from, or none for the default. */
export const saveSender = (
  tx: Transaction,
  { project_id, list_id }: ListKey,
  { sender_name, sender_local_part, sender_domain }: Pick<ListRow, 'sender_name' | 'sender_local_part' | 'sender_domain'>,
) => tx.run`
  update lists set sender_name = ${sender_name}, sender_local_part = ${sender_local_part}, sender_domain = ${sender_domain}, updated_at = ${tx.now}
  where project_id = ${project_id} and id = ${list_id}`

/** All lists of a project that send from a domain. */
export const listsOfSender = (db: Queryable, project_id: ProjectId, domain: string) => db.many<ListRow>`
  select ${columns} ${fromLists} where l.project_id = ${project_id} and l.sender_domain = ${domain} and l.deleted_at is null order by l.id`

/** The domain that it sends from is looked at next, and goes if nobody else needs it. */
export const markListDeleted = (tx: Transaction, key: ListKey) => tx.run`
  with gone as (
    update lists set deleted_at = ${tx.now} where project_id = ${key.project_id} and id = ${key.list_id} returning project_id, sender_domain)
  update sender_domains d set next_check_at = ${tx.now} from gone where d.project_id = gone.project_id and d.domain = gone.sender_domain`
