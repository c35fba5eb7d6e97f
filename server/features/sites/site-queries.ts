import type { PostId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { SitePostHead, SitePostRow, SiteRow } from './site.ts'

/**
 * What a page needs is asked by the name that its address has, so that a page nobody has made yet costs one round of questions. A name belongs
 * to one list of one project.
 */

/** The version says whether pages made before are still good: what it is made of is looked up by indexes, and nothing is counted. */
export const findSite = (db: Queryable, subdomain: string) => db.first<SiteRow>`
  select l.project_id, l.id as list_id, l.name, l.subdomain, l.type, l.description, l.language, l.accent_color, l.logo_url, l.welcome_message,
    l.footer, l.postal_address, l.show_posts, l.waitlist_closed, l.show_posts and changed.at is not null as has_posts, count.active as subscriber_count, null as domain,
    concat_ws('.', extract(epoch from l.updated_at), extract(epoch from changed.at), count.active, liked.count) as version
  from lists l join projects pr on pr.id = l.project_id and pr.deleted_at is null
    left join lateral (
      select coalesce(sum(c.active), 0)::bigint as active from list_counters c
      where c.project_id = l.project_id and c.list_id = l.id) count on l.show_subscriber_count
    cross join lateral (
      select max(p.updated_at) as at from posts p
      where p.project_id = l.project_id and p.list_id = l.id and coalesce(p.published_at, p.sent_at) is not null) changed
    cross join lateral (
      select count(*) as count from post_likes k where k.project_id = l.project_id and k.list_id = l.id) liked
  where l.subdomain = ${subdomain} and l.deleted_at is null`

const at = sql`coalesce(p.published_at, p.sent_at)`
const head = sql`
  p.id, p.slug, p.subject, p.preview_text, ${at} as at, p.updated_at, p.body_html is not null as is_html,
  left(coalesce(p.body_html, p.body_markdown, p.body_text, ''), case when p.body_html is null then 1000 else 8000 end) as beginning`
/** Of a list that shows its posts: what was published, or has begun to be sent. */
const fromPosts = sql`
  from lists l join projects pr on pr.id = l.project_id and pr.deleted_at is null
  join posts p on p.project_id = l.project_id and p.list_id = l.id and coalesce(p.published_at, p.sent_at) is not null`
const isShown = (subdomain: string): Fragment => sql`l.subdomain = ${subdomain} and l.deleted_at is null and l.show_posts`

/** As the index has it. */
const wordsOfPost = sql`
  to_tsvector('simple', translate(regexp_replace(left(p.subject || ' ' || coalesce(p.preview_text, '')
  || ' ' || coalesce(p.body_markdown, p.body_text, p.body_html, ''), 50000), '<[^<>]*>', ' ', 'g'), '!"#$%&''()*+,-./:;<=>?@[\\]^_\`{|}~', repeat(' ', 32)))`

interface PostPageFilter {
  subdomain: string
  /** The last post of the page before. */
  after: PostId | null
  /** Words that all have to be in it, each whole or its beginning. */
  words: string[]
  limit: number
}

/** Newest first. */
export const pageSitePosts = (db: Queryable, { subdomain, after, words, limit }: PostPageFilter) => db.many<SitePostHead>`
  select ${head} ${fromPosts}
  where ${isShown(subdomain)}
    ${
      after === null
        ? nothing
        : sql`and (${at}, p.id) < (
          select coalesce(one.published_at, one.sent_at), one.id from posts one
          where one.project_id = l.project_id and one.list_id = l.id and one.id = ${after})`
    }
    ${words.length === 0 ? nothing : sql`and ${wordsOfPost} @@ to_tsquery('simple', ${words.map((word) => `'${word}':*`).join(' & ')})`}
  order by ${at} desc, p.id desc limit ${limit}`

const whole = sql`${head}, p.project_id, p.list_id, p.body_html, p.body_markdown, p.body_text, p.likes`

/** With their bodies: for feeds. */
export const newestSitePosts = (db: Queryable, subdomain: string, limit: number) => db.many<SitePostRow>`
  select ${whole} ${fromPosts} where ${isShown(subdomain)} order by ${at} desc, p.id desc limit ${limit}`

/** What a sitemap tells. */
export const listSitePosts = (db: Queryable, subdomain: string, limit: number) => db.many<Pick<SitePostHead, 'id' | 'slug' | 'updated_at'>>`
  select p.id, p.slug, p.updated_at ${fromPosts} where ${isShown(subdomain)} order by ${at} desc, p.id desc limit ${limit}`

type Neighbour = Pick<SitePostHead, 'id' | 'slug' | 'subject'>

export interface SitePostPage extends SitePostRow {
  older: Neighbour | null
  newer: Neighbour | null
}

const neighbour = sql`json_build_object('id', n.id, 'slug', n.slug, 'subject', n.subject)`
const neighbours = sql`from posts n where n.project_id = p.project_id and n.list_id = p.list_id and coalesce(n.published_at, n.sent_at) is not null`
const nAt = sql`coalesce(n.published_at, n.sent_at)`

/** By its place, or by its id: also one that has a place has been linked to by it. */
export const findSitePost = (db: Queryable, subdomain: string, { slug, id }: { slug: string; id: PostId | null }) => db.first<SitePostPage>`
  select ${whole},
    (select ${neighbour} ${neighbours} and (${nAt}, n.id) < (${at}, p.id) order by ${nAt} desc, n.id desc limit 1) as older,
    (select ${neighbour} ${neighbours} and (${nAt}, n.id) > (${at}, p.id) order by ${nAt}, n.id limit 1) as newer
  ${fromPosts} where ${isShown(subdomain)} and ${id === null ? sql`p.slug = ${slug}` : sql`p.id = ${id}`}`
