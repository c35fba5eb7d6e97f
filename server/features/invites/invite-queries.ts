import { type InviteId, newId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { Role } from '../../operations/context.ts'
import { expiryLine, type InviteRow } from './invite.ts'

/** With what the invite's page tells of it. */
export interface ShownInvite extends InviteRow {
  project_name: string
  project_slug: string
  maker_email: string | null
  maker_name: string | null
}
const shownInvites = sql`
  select i.*, p.name as project_name, p.slug as project_slug, maker.email as maker_email, maker.name as maker_name
  from invites i join projects p on p.id = i.project_id and p.deleted_at is null join users maker on maker.id = i.user_id`

export const findInvite = (db: Queryable, project_id: ProjectId, id: InviteId) => db.first<ShownInvite>`
  ${shownInvites}
  where i.project_id = ${project_id} and i.id = ${id}`

/** Whatever project it is from: here the address is what makes it theirs. */
export const findInviteTo = (db: Queryable, email_key: string, id: InviteId) => db.first<ShownInvite>`
  ${shownInvites}
  where i.email_key = ${email_key} and i.id = ${id}`

/** Held until the transaction ends: of approve, reject and revoke one comes first. */
export const lockInvite = (tx: Transaction, project_id: ProjectId, id: InviteId) => tx.first<InviteRow>`
  select * from invites where project_id = ${project_id} and id = ${id} for update`

export const lockOpenInvite = (tx: Transaction, project_id: ProjectId, email_key: string) => tx.first<InviteRow>`
  select * from invites where project_id = ${project_id} and email_key = ${email_key} and status = 'pending' for update`

interface InvitePage {
  project_id: ProjectId
  /** Whose invites from elsewhere are shown beside, while they are open; null for who has no address. */
  email_key: string | null
  status: InviteRow['status'] | undefined
  after: string | null
  limit: number
  now: Date
}

/** Newest first. */
export const pageInvites = (db: Queryable, page: InvitePage) => db.many<InviteRow>`
  select i.* from invites i join projects p on p.id = i.project_id and p.deleted_at is null
  where (i.project_id = ${page.project_id}
    or (i.email_key = ${page.email_key} and i.status = 'pending' and i.created_at > ${expiryLine(page.now)}))
    ${page.status === undefined ? nothing : sql`and i.status = ${page.status}`}
    ${page.after === null ? nothing : sql`and i.id < ${page.after}`}
  order by i.id desc limit ${page.limit}`

/** What waits for the answer of whoever has this address, newest first. */
export const openInvitesTo = (db: Queryable, email_key: string, now: Date) => db.many<ShownInvite>`
  ${shownInvites}
  where i.email_key = ${email_key} and i.status = 'pending' and i.created_at > ${expiryLine(now)} order by i.id desc limit 100`

/** Open in the project; and made by this member in the last day, for whichever project and whatever became of them. */
export const countInvites = async (db: Queryable, { project_id, user_id, now }: { project_id: ProjectId; user_id: UserId; now: Date }) => {
  const counted = await db.first<{ open: number; made: number }>`
    select (select count(*) from invites where project_id = ${project_id} and status = 'pending' and created_at > ${expiryLine(now)}) as open,
      (select count(*) from invites where user_id = ${user_id} and created_at > ${now}::timestamptz - interval '1 day') as made`
  return counted! // a select without a table has one row
}

export interface NewInviteRow {
  project_id: ProjectId
  email: string
  email_key: string
  role: Role
  source: InviteRow['source']
  user_id: UserId
}

export const insertInvite = async (tx: Transaction, invite: NewInviteRow): Promise<InviteRow> => {
  const row = await tx.first<InviteRow>`
    insert into invites (project_id, id, email, email_key, role, source, user_id, created_at)
    values (${invite.project_id}, ${newId<'inv'>()}, ${invite.email}, ${invite.email_key}, ${invite.role}, ${invite.source}, ${invite.user_id}, ${tx.now})
    returning *`
  return row! // an insert that does not throw returns its row
}

export const setStatus = async (tx: Transaction, invite: InviteRow, status: InviteRow['status']): Promise<InviteRow> => {
  await tx.run`
    update invites set status = ${status}, decided_at = ${tx.now} where project_id = ${invite.project_id} and id = ${invite.id}`
  return { ...invite, status, decided_at: tx.now }
}

export const noteMailed = (tx: Transaction, { project_id, id }: InviteRow) => tx.run`
  update invites set mailed_at = ${tx.now} where project_id = ${project_id} and id = ${id}`

export const revokeExpired = (db: Queryable, now: Date) => db.run`
  update invites set status = 'revoked', decided_at = ${now} where status = 'pending' and created_at < ${expiryLine(now)}`
