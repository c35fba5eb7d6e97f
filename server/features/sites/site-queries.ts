import type { PostId } from '../../base/ids.ts'
import type { Database, Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { PostKey } from '../posts/index.ts'
import type { SitePostHead, SitePostRow, SiteRow } from './site.ts'

/**
 * What a page needs is asked by the name that its address has, so that a page nobody has made yet costs one round of questions. A name belongs
 * to one list of one project.
 */

const at = sql`coalesce(p.published_at, p.sent_at)`
/** What was published, or has begun to be sent, and was not taken off; as the index has it. */
const isOnSite = sql`coalesce(p.published_at, p.sent_at) is not null and p.hidden_at is null`

/**
 * The version says whether pages made before are still good: what it is made of is looked up by indexes, and nothing is counted. What has been
 * taken off the site counts as a change of it. Likes are not in it: they show when a page is made anew, within a minute.
 */
export const findSite = (db: Queryable, subdomain: string) => db.first<SiteRow>`
  select l.project_id, l.id as list_id, l.name, l.subdomain, l.type, l.description, l.language, l.accent_color, l.logo_url, l.welcome_message,
    l.footer, l.postal_address, l.show_posts, l.waitlist_closed, count.active as subscriber_count, d.domain,
    concat_ws('.', extract(epoch from l.updated_at), extract(epoch from changed.at), count.active, d.domain) as version,
    l.show_posts and newest.id is not null as has_posts
  from lists l join projects pr on pr.id = l.project_id and pr.deleted_at is null
    left join site_domains d on d.project_id = l.project_id and d.list_id = l.id and d.status = 'active'
    left join lateral (
      select coalesce(sum(c.active), 0)::bigint as active from list_counters c
      where c.project_id = l.project_id and c.list_id = l.id) count on l.show_subscriber_count
    cross join lateral (
      select max(p.updated_at) as at from posts p
      where p.project_id = l.project_id and p.list_id = l.id and (p.slug is not null or coalesce(p.published_at, p.sent_at) is not null)) changed
    left join lateral (
      select p.id from posts p where p.project_id = l.project_id and p.list_id = l.id and ${isOnSite} order by ${at} desc, p.id desc limit 1) newest on true
  where l.subdomain = ${subdomain} and l.deleted_at is null`

/** The list first, and then so many of its posts in the order of their index: joined, the planner would take up thousands and sort them. */
const postsOf = (
  subdomain: string,
  { columns, where = nothing, limit }: { columns: Fragment; where?: Fragment; limit: number },
): Fragment => sql`
  select found.* from (
    select l.project_id, l.id as list_id from lists l join projects pr on pr.id = l.project_id and pr.deleted_at is null
    where l.subdomain = ${subdomain} and l.deleted_at is null and l.show_posts) l
  cross join lateral (
    select ${columns} from posts p
    where p.project_id = l.project_id and p.list_id = l.list_id and ${isOnSite} ${where}
    order by ${at} desc, p.id desc limit ${limit}) found
  order by found.at desc, found.id desc`

const head = sql`p.id, p.slug, p.subject, p.site_title, p.site_excerpt, ${at} as at, p.updated_at`

interface PostPageFilter {
  subdomain: string
  /** The last post of the page before. */
  after: PostId | null
  /** Words that all have to be in it, each whole or, if it is long enough, its beginning. */
  words: string[]
  limit: number
}

/** Newest first. */
export const pageSitePosts = (db: Queryable, { subdomain, after, words, limit }: PostPageFilter) => db.many<SitePostHead>`
  ${postsOf(subdomain, {
    columns: head,
    limit,
    where: sql`${after === null ? nothing : isAfter(after)} ${words.length === 0 ? nothing : hasWords(words)}`,
  })}`

/** Anybody may search: most take some milliseconds, and one that takes seconds is given up. */
export const searchSitePosts = (database: Database, filter: PostPageFilter): Promise<SitePostHead[]> =>
  database.transaction(async (tx) => {
    await tx.run`set local statement_timeout = '3s'`
    return pageSitePosts(tx, filter)
  })

const isAfter = (post: PostId): Fragment => sql`
  and (${at}, p.id) < (
    select coalesce(one.published_at, one.sent_at), one.id from posts one
    where one.project_id = l.project_id and one.list_id = l.list_id and one.id = ${post})`

/** One letter begins half of all words. */
const hasWords = (words: string[]): Fragment => sql`
  and p.site_words @@ to_tsquery('simple', ${words.map((word) => (word.length > 1 ? `'${word}':*` : `'${word}'`)).join(' & ')})`

const whole = sql`${head}, p.project_id, p.list_id, p.preview_text, p.body_html, p.body_markdown, p.body_text, p.likes`

/** With their bodies: for feeds. */
export const newestSitePosts = (db: Queryable, subdomain: string, limit: number) => db.many<SitePostRow>`
  ${postsOf(subdomain, { columns: whole, limit })}`

/** What a sitemap tells. */
export const listSitePosts = (db: Queryable, subdomain: string, limit: number) => db.many<Pick<SitePostHead, 'id' | 'slug' | 'updated_at'>>`
  ${postsOf(subdomain, { columns: sql`p.id, p.slug, p.updated_at, ${at} as at`, limit })}`

type Neighbour = Pick<SitePostHead, 'id' | 'slug' | 'subject' | 'site_title'>

export interface SitePostPage extends SitePostRow {
  older: Neighbour | null
  newer: Neighbour | null
}

const neighbour = sql`json_build_object('id', n.id, 'slug', n.slug, 'subject', n.subject, 'site_title', n.site_title)`
const neighbours = sql`
  from posts n
  where n.project_id = p.project_id and n.list_id = p.list_id and coalesce(n.published_at, n.sent_at) is not null and n.hidden_at is null`
const nAt = sql`coalesce(n.published_at, n.sent_at)`

/** By its place, or by its id: also one that has a place has been linked to by it. */
export const findSitePost = (db: Queryable, subdomain: string, { slug, id }: { slug: string; id: PostId | null }) => db.first<SitePostPage>`
  select ${whole},
    (select ${neighbour} ${neighbours} and (${nAt}, n.id) < (${at}, p.id) order by ${nAt} desc, n.id desc limit 1) as older,
    (select ${neighbour} ${neighbours} and (${nAt}, n.id) > (${at}, p.id) order by ${nAt}, n.id limit 1) as newer
  from lists l join projects pr on pr.id = l.project_id and pr.deleted_at is null
  join posts p on p.project_id = l.project_id and p.list_id = l.id and ${isOnSite}
  where l.subdomain = ${subdomain} and l.deleted_at is null and l.show_posts
    and ${id === null ? sql`p.slug = ${slug}` : sql`p.id = ${id}`}`

export interface UndescribedPost
  extends Pick<SitePostRow, 'subject' | 'preview_text' | 'body_html' | 'body_markdown' | 'body_text' | 'updated_at'>,
    PostKey {
  name: string
  postal_address: string | null
}

/** What is on a site since before such words were kept. */
export const pageUndescribed = (db: Queryable, { after, limit }: { after: PostId | null; limit: number }) => db.many<UndescribedPost>`
  select p.project_id, p.list_id, p.id as post_id, p.subject, p.preview_text, p.body_html, p.body_markdown, p.body_text, p.updated_at,
    l.name, l.postal_address
  from posts p join lists l on l.project_id = p.project_id and l.id = p.list_id
  where p.site_title is null and coalesce(p.published_at, p.sent_at) is not null ${after === null ? nothing : sql`and p.id > ${after}`}
  order by p.id limit ${limit}`

/** False when it was changed meanwhile: then whoever changed it has said it, or it is described the next time. */
export const holdUndescribed = async (tx: Transaction, { project_id, list_id, post_id, updated_at }: UndescribedPost): Promise<boolean> =>
  (await tx.first`
    select 1 from posts where project_id = ${project_id} and list_id = ${list_id} and id = ${post_id}
      and date_trunc('milliseconds', updated_at) = ${updated_at} and site_title is null for update`) !== null
