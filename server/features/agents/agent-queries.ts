import type { BroadcastId, MailboxId, ProjectId, UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import type { PostHead } from '../posts/post.ts'
import type { AgentRow } from './agent.ts'

/** An agent with its project and what its keys may do. Whose it is, is part of the key: another human's agent is not found. */
const columns = sql`
  u.id, u.name, u.email, p.id as project_id, u.disabled_at, u.created_at, k.last_used_at, coalesce(k.scopes, '{}') as scopes
  from users u
  join lateral (select id from projects where owner_id = u.id and deleted_at is null order by id limit 1) p on true
  left join lateral (
    select max(key.last_used_at) as last_used_at, array_agg(distinct scope) filter (where scope is not null) as scopes
    from api_keys key left join lateral unnest(key.scopes) as scope on true
    where key.project_id = p.id and key.user_id = u.id) k on true`

/** Newest first. */
export const pageAgents = (db: Queryable, parent_id: UserId, after: string | null, limit: number) => db.many<AgentRow>`
  select ${columns} where u.parent_id = ${parent_id} and u.kind = 'agent' ${after === null ? nothing : sql`and u.id < ${after}`}
  order by u.id desc limit ${limit}`

export const findAgent = (db: Queryable, parent_id: UserId, id: UserId) => db.first<AgentRow>`
  select ${columns} where u.parent_id = ${parent_id} and u.kind = 'agent' and u.id = ${id}`

export const lockAgent = (tx: Transaction, parent_id: UserId, id: UserId) => tx.first`
  select 1 from users where parent_id = ${parent_id} and kind = 'agent' and id = ${id} for update`

/** Its keys are asked for on every node within half a second, and then they are nobody's. */
export const setDisabled = (tx: Transaction, id: UserId, isDisabled: boolean) => tx.run`
  update users set disabled_at = case when ${isDisabled}::boolean then coalesce(disabled_at, ${tx.now}) end where id = ${id}`

export const projectsOf = (db: Queryable, user_id: UserId) => db.many<{ id: ProjectId }>`
  select id from projects where owner_id = ${user_id} and deleted_at is null order by id`

/** The posts of these broadcasts, as events tell of them. Of lists that are deleted nothing is told. */
export const postsOf = (db: Queryable, project_id: ProjectId, broadcast_ids: BroadcastId[]) => db.many<PostHead>`
  select p.project_id, p.list_id, p.id, p.subject, p.status, p.source, p.needs_approval, p.scheduled_at, p.sent_at, p.created_at,
    b.status as broadcast_status, b.recipients
  from broadcasts b join posts p on p.project_id = b.project_id and p.list_id = b.list_id and p.id = b.post_id and p.broadcast_id = b.id
  join lists l on l.project_id = p.project_id and l.id = p.list_id and l.deleted_at is null
  where b.project_id = ${project_id} and b.id = any(${broadcast_ids}::uuid[]) order by p.id`

export const setParent = (tx: Transaction, id: UserId, parent_id: UserId) => tx.run`
  update users set parent_id = ${parent_id} where id = ${id}`

interface AgentKeys {
  project_id: ProjectId
  user_id: UserId
}

/** Keys that were the agent's are the human's now, where its things went. */
export const handOverKeys = (tx: Transaction, agent: AgentKeys, human: AgentKeys) => tx.run`
  update api_keys set project_id = ${human.project_id}, user_id = ${human.user_id} where project_id = ${agent.project_id}`

/** After a merge nobody is left behind the agent, and nothing in its project that anybody could reach. */
export const retireAgent = async (tx: Transaction, { project_id, user_id }: AgentKeys): Promise<void> => {
  await tx.run`update projects set deleted_at = coalesce(deleted_at, ${tx.now}) where id = ${project_id}`
  await setDisabled(tx, user_id, true)
}

/** The mailbox that an agent was given, wherever it is now. */
export const findAgentMailbox = (db: Queryable, { project_id, user_id }: AgentKeys) => db.first<{ id: MailboxId; address: string }>`
  select m.id, m.address from api_keys k join mailboxes m on m.project_id = k.project_id and m.id = k.agent_mailbox_id
  where k.project_id = ${project_id} and k.user_id = ${user_id} and m.deleted_at is null order by k.id limit 1`
