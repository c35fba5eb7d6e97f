import { formatId, type ListId, type PostId, type ProjectId } from '../../base/ids.ts'
import { plainLine } from '../../mail/compile/index.ts'
import { canonicalUrl, defaultSiteUrl, type ListRow } from '../lists/index.ts'

export { canonicalUrl, defaultSiteUrl }

/** A list as its public site shows it. */
export interface SiteRow
  extends Pick<
    ListRow,
    | 'name'
    | 'subdomain'
    | 'type'
    | 'description'
    | 'language'
    | 'accent_color'
    | 'logo_url'
    | 'welcome_message'
    | 'footer'
    | 'postal_address'
    | 'show_posts'
    | 'waitlist_closed'
  > {
  project_id: ProjectId
  list_id: ListId
  /** Something is published, and the list shows it. */
  has_posts: boolean
  /** Null unless the list shows it. */
  subscriber_count: number | null
  /** Its own domain, once that leads here. */
  domain: string | null
  /** Changes with whatever pages of it show. */
  version: string
}

/** A post in a row of others. */
export interface SitePostHead {
  id: PostId
  slug: string | null
  subject: string
  /** As somebody reads it of whom nothing is known; null in what an older release has put there, for some minutes after the upgrade. */
  site_title: string | null
  site_excerpt: string | null
  /** When it came onto the site. */
  at: Date
  updated_at: Date
}

export interface SitePostRow extends SitePostHead {
  project_id: ProjectId
  list_id: ListId
  preview_text: string | null
  body_html: string | null
  body_text: string | null
  body_markdown: string | null
  likes: number
}

/** Where it stands on the site, below the site's base. */
export const postPath = ({ slug, id }: Pick<SitePostHead, 'slug' | 'id'>): string => `/p/${slug ?? formatId('post', id)}`

export const titleOf = ({ subject, site_title }: Pick<SitePostHead, 'subject' | 'site_title'>, { name }: Pick<SiteRow, 'name'>): string =>
  (site_title ?? plainLine(subject, { list_name: name })) || name

const wordsAMinute = 230
export const readingMinutes = (words: number): number => Math.max(1, Math.round(words / wordsAMinute))
