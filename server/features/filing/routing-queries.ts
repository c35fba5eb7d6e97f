import type { MailboxId, ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { MailKey } from '../recipients/index.ts'
import type { HomeMailbox } from './filed-mail.ts'

const homes = sql`
  select m.project_id, m.id, m.address, m.address_key, m.name, m.type, m.status, m.expires_at, m.config, coalesce(l.id, m.list_id) as list_id, l.id is not null as is_list_address
  from mailboxes m
  join projects p on p.id = m.project_id and p.deleted_at is null
  left join lists l on l.project_id = m.project_id and l.mailbox_id = m.id and l.deleted_at is null`

/** Of all projects: an address belongs to one of them at most, and not to one whose domain is another's now. Paused or ended ones as well: the mail was accepted before. */
export const findHomes = (db: Queryable, address_keys: string[]) => db.many<HomeMailbox>`
  ${homes} where m.address_key = any(${address_keys}::text[]) and m.deleted_at is null and not exists (
    select 1 from sender_domains d
    where d.domain = split_part(m.address_key, '@', 2) and d.status = 'verified' and d.project_id <> m.project_id)`

/** The mailbox that a mail of ours was sent from. The program's own mails have none. */
export const findHomeOf = (db: Queryable, { kind, project_id, id }: MailKey) => db.first<HomeMailbox>`
  ${homes} where m.project_id = ${project_id} and m.deleted_at is null and m.id = (
    select case ${kind}::text
      when 'email' then (select mailbox_id from emails where project_id = ${project_id} and id = ${id} and direction = 'outbound')
      when 'delivery' then (
        select l.mailbox_id from deliveries d
        join broadcasts b on b.project_id = d.project_id and b.id = d.broadcast_id
        join lists l on l.project_id = b.project_id and l.id = b.list_id and l.deleted_at is null
        where d.project_id = ${project_id} and d.id = ${id})
    end)`

export interface ReplyAddress {
  id: string
  project_id: ProjectId
  mailbox_id: MailboxId
  /** Whom the owner of the mailbox answers through it. */
  outside: string
  outside_key: string
}

/** By its id alone, which only we can have signed. */
export const findReplyAddress = (db: Queryable, id: string) => db.first<ReplyAddress>`
  select id, project_id, mailbox_id, outside, outside_key from proxy_addresses where id = ${id}`

export const findHome = (
  db: Queryable,
  { project_id, mailbox_id }: Pick<ReplyAddress, 'project_id' | 'mailbox_id'>,
) => db.first<HomeMailbox>`
  ${homes} where m.project_id = ${project_id} and m.id = ${mailbox_id} and m.deleted_at is null`
