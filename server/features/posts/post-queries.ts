import type { z } from 'zod'
import { type BroadcastId, type ListId, newId, type PostId, type ProjectId, type UserId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { nothing, sql } from '../../database/sql.ts'
import { isSwitchedOff } from '../../delivery/control.ts'
import { returnHostOf } from '../../mail/verp.ts'
import type { PostHead, PostParams, PostRow, PostStatus } from './post.ts'

export interface PostKey {
  project_id: ProjectId
  list_id: ListId
  post_id: PostId
}

export const keyOf = (caller: { project_id: ProjectId }, params: z.output<typeof PostParams>): PostKey => ({
  project_id: caller.project_id,
  list_id: params.listId,
  post_id: params.postId,
})

/** A post of a deleted list is out of sight at once; the rows go in the background. */
const fromPosts = sql`
  from posts p
  join lists l on l.project_id = p.project_id and l.id = p.list_id and l.deleted_at is null
  left join broadcasts b on b.project_id = p.project_id and b.id = p.broadcast_id`

/** All but what only the site shows of it. */
const columns = sql`
  p.project_id, p.list_id, p.id, p.subject, p.slug, p.likes, p.preview_text, p.body_html, p.body_text, p.body_markdown, p.status, p.source,
  p.needs_approval, p.scheduled_at, p.published_at, p.hidden_at, p.sent_at, p.broadcast_id, p.created_by, p.issues_summary, p.checked_at,
  p.created_at, p.updated_at`

/** Another project's post is not found, never forbidden: the tenant is part of the key. */
export const findPost = (db: Queryable, key: PostKey) => db.first<PostRow>`
  select ${columns}, b.status as broadcast_status, b.reason as broadcast_reason, b.recipients,
    b.delivered + b.complained as delivered, b.opened, b.clicked, b.bounced,
    w.started_at as warming_since, w.counted_from as warm_up_counted_from, w.sent as warm_up_sent
  ${fromPosts} left join warm_ups w on w.project_id = b.project_id and w.domain = b.from_domain
  where p.project_id = ${key.project_id} and p.list_id = ${key.list_id} and p.id = ${key.post_id}`

/**
 * The row is held until the transaction ends, so that two who act on one post take turns. Read after the lock, by a statement of its
 * own: the one that waited would join the broadcast as it was before.
 */
export async function lockPost(tx: Transaction, key: PostKey): Promise<PostRow | null> {
  await tx.run`select 1 from posts where project_id = ${key.project_id} and list_id = ${key.list_id} and id = ${key.post_id} for update`
  return findPost(tx, key)
}

interface PostFilter {
  project_id: ProjectId
  list_id: ListId
  status?: PostStatus | undefined
  /** The last id of the page before. */
  after: string | null
  limit: number
}

/** Newest first. Bodies stay where they are: a thousand of them would be a gigabyte. */
export const pagePosts = (db: Queryable, filter: PostFilter) => db.many<PostHead>`
  select p.project_id, p.list_id, p.id, p.subject, p.status, p.source, p.needs_approval, p.scheduled_at, p.sent_at, p.created_at,
    b.status as broadcast_status, b.recipients
  ${fromPosts}
  where p.project_id = ${filter.project_id} and p.list_id = ${filter.list_id}
    ${filter.status === undefined ? nothing : sql`and p.status = ${filter.status}`}
    ${filter.after === null ? nothing : sql`and p.id < ${filter.after}`}
  order by p.id desc limit ${filter.limit}`

export interface PostContent {
  subject: string
  preview_text: string | null
  body_html: string | null
  body_text: string | null
  body_markdown: string | null
}

interface NewPostRow extends PostContent {
  project_id: ProjectId
  list_id: ListId
  source?: PostRow['source']
  needs_approval: boolean
  created_by: UserId
}

export async function insertPost(tx: Transaction, post: NewPostRow): Promise<PostRow> {
  const post_id = newId<'post'>()
  await tx.run`
    insert into posts (project_id, list_id, id, subject, preview_text, body_html, body_text, body_markdown, source, needs_approval, created_by, created_at, updated_at)
    values (${post.project_id}, ${post.list_id}, ${post_id}, ${post.subject}, ${post.preview_text}, ${post.body_html}, ${post.body_text},
      ${post.body_markdown}, ${post.source ?? 'api'}, ${post.needs_approval}, ${post.created_by}, ${tx.now}, ${tx.now})`
  return (await findPost(tx, { ...post, post_id }))! // inserted above, in this transaction
}

/** What was checked was the text of before. */
export const saveContent = (tx: Transaction, post: PostRow) => tx.run`
  update posts set subject = ${post.subject}, preview_text = ${post.preview_text}, body_html = ${post.body_html}, body_text = ${post.body_text},
    body_markdown = ${post.body_markdown}, issues_summary = null, checked_at = null, updated_at = ${tx.now}
  where project_id = ${post.project_id} and list_id = ${post.list_id} and id = ${post.id}`

export const saveState = (tx: Transaction, post: PostRow) => tx.run`
  update posts set status = ${post.status}, needs_approval = ${post.needs_approval}, scheduled_at = ${post.scheduled_at},
    published_at = ${post.published_at}, hidden_at = ${post.hidden_at}, slug = ${post.slug}, sent_at = ${post.sent_at}, broadcast_id = ${post.broadcast_id}, updated_at = ${tx.now}
  where project_id = ${post.project_id} and list_id = ${post.list_id} and id = ${post.id}`

/** What the site shows of a post beside its page. */
export interface SiteText {
  title: string
  excerpt: string
  /** What a search finds it by: letters and digits alone, as PostgreSQL takes minutes over what looks like addresses and numbers to it. */
  words: string
}

/** Null: somebody has to try it again. */
export const saveSiteText = (
  tx: Transaction,
  { project_id, list_id, id }: Pick<PostRow, 'project_id' | 'list_id' | 'id'>,
  text: SiteText | null,
) => tx.run`
  update posts set site_title = ${text?.title ?? null}, site_excerpt = ${text?.excerpt ?? null},
    site_words = to_tsvector('simple', ${text?.words ?? null}::text)
  where project_id = ${project_id} and list_id = ${list_id} and id = ${id}`

/** Of `base`, `base-2`, `base-3`, … those that posts of this list have. */
export const takenSlugs = (tx: Transaction, { project_id, list_id }: Pick<PostKey, 'project_id' | 'list_id'>, base: string) => tx.many<{
  slug: string
}>`
  select slug from posts where project_id = ${project_id} and list_id = ${list_id} and (slug = ${base} or slug like ${`${base}-%`})`

/** What events tell of them. */
export const findPostHeads = (db: Queryable, keys: PostKey[]) => db.many<PostHead>`
  select p.project_id, p.list_id, p.id, p.subject, p.status, p.source, p.needs_approval, p.scheduled_at, p.sent_at, p.created_at,
    b.status as broadcast_status, b.recipients
  ${fromPosts}
  where (p.project_id, p.list_id, p.id) in (
    select * from unnest(${keys.map(({ project_id }) => project_id)}::uuid[], ${keys.map(({ list_id }) => list_id)}::uuid[],
      ${keys.map(({ post_id }) => post_id)}::uuid[]))`

export const deletePostRow = (tx: Transaction, key: PostKey) => tx.run`
  delete from posts where project_id = ${key.project_id} and list_id = ${key.list_id} and id = ${key.post_id}`

interface DueRound {
  now: Date
  limit: number
  /** These wait for the others. */
  without: { projects: ProjectId[]; posts: PostId[] }
}

/** Of each project the scheduled post whose time came first, the longest overdue first. */
export const pageDuePosts = (db: Queryable, { now, limit, without }: DueRound) => db.many<PostKey>`
  select project_id, list_id, post_id from (
    select distinct on (p.project_id) p.project_id, p.list_id, p.id as post_id, p.scheduled_at from posts p
    join lists l on l.project_id = p.project_id and l.id = p.list_id and l.deleted_at is null
    join projects on projects.id = p.project_id and projects.deleted_at is null
    where p.status = 'scheduled' and p.scheduled_at <= ${now} and not ${isSwitchedOff(sql`p.project_id`)}
      and p.project_id <> all(${without.projects}::uuid[]) and p.id <> all(${without.posts}::uuid[])
    order by p.project_id, p.scheduled_at, p.id) due
  order by scheduled_at limit ${limit}`

/** False when somebody else is at it in this moment, or its agent is switched off. Whoever does that now waits for us, and finds what we begin. */
export const tryLockPost = async (tx: Transaction, key: PostKey): Promise<boolean> =>
  (await tx.first`
    select 1 from posts p join projects on projects.id = p.project_id join users owner on owner.id = projects.owner_id
    where p.project_id = ${key.project_id} and p.list_id = ${key.list_id} and p.id = ${key.post_id}
      and (owner.kind <> 'agent' or owner.disabled_at is null)
    for update of p skip locked for share of owner skip locked`) !== null

/** Agents that are subscribed have no address, and get no mail. There are few of them, so that they are looked up by their contacts. */
export const countAgents = async (db: Queryable, { project_id, list_id }: Pick<PostKey, 'project_id' | 'list_id'>): Promise<number> =>
  (
    await db.first<{ count: number }>`
      select count(*) as count from contacts c join subscribers s on s.project_id = c.project_id and s.contact_id = c.id
      where c.project_id = ${project_id} and c.agent_id is not null and s.list_id = ${list_id} and s.status = 'active'`
  )?.count ?? 0

/** What an idempotency key remembers of a send. */
export const findSend = (db: Queryable, { project_id, post_id }: PostKey, id: BroadcastId) => db.first<{ recipients: number }>`
  select recipients from broadcasts where project_id = ${project_id} and post_id = ${post_id} and id = ${id}`

type OfPost = Pick<PostKey, 'project_id' | 'post_id'>

/** The domain that the post's broadcast goes out from, if it is one of the project's own and not verified now. Those alone have bounces come to a name below it. */
export const findLostSender = (db: Queryable, { project_id, post_id }: OfPost) => db.first<{ from_domain: string; is_set_up: boolean }>`
  select b.from_domain, d.domain is not null as is_set_up
  from posts p join broadcasts b on b.project_id = p.project_id and b.id = p.broadcast_id
  left join sender_domains d on d.project_id = b.project_id and d.domain = b.from_domain
  where p.project_id = ${project_id} and p.id = ${post_id} and d.status is distinct from 'verified'
    and split_part(b.source->'frame'->'mail'->>'return_path', '@', 2) = ${returnHostOf('')} || b.from_domain`

/** It stays as it is until the transaction ends: whoever finds the domain lost waits, and then finds what goes on meanwhile. */
export const holdBegunSender = (tx: Transaction, { project_id, post_id }: OfPost) => tx.run`
  select 1 from posts p join broadcasts b on b.project_id = p.project_id and b.id = p.broadcast_id
  join sender_domains d on d.project_id = b.project_id and d.domain = b.from_domain
  where p.project_id = ${project_id} and p.id = ${post_id} for share of d`

export interface TrippedRow {
  project_id: ProjectId
  id: BroadcastId
  subject: string
  reason: string
}

/** Broadcasts that the breaker has paused, and whose owners do not know yet. */
export const pageTripped = (db: Queryable, limit: number) => db.many<TrippedRow>`
  select project_id, id, source->'post'->>'subject' as subject, reason from broadcasts
  where tripped is not null and owner_told_at is null and status = 'paused' order by created_at limit ${limit}`

/** False when somebody else is telling them, or it goes on already. */
export const markOwnerTold = async (tx: Transaction, { project_id, id }: Pick<TrippedRow, 'project_id' | 'id'>): Promise<boolean> =>
  (await tx.run`
    update broadcasts set owner_told_at = ${tx.now}
    where project_id = ${project_id} and id = ${id} and tripped is not null and owner_told_at is null and status = 'paused'`) > 0
