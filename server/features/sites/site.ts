import { isIP } from 'node:net'
import type { Config } from '../../base/config.ts'
import { formatId, type ListId, type PostId, type ProjectId } from '../../base/ids.ts'
import { plainLine } from '../../mail/compile/index.ts'
import type { ListRow } from '../lists/list.ts'

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
  preview_text: string | null
  /** How its body begins, as it was written; and as what. */
  beginning: string
  is_html: boolean
  /** When it came onto the site. */
  at: Date
  updated_at: Date
}

export interface SitePostRow extends SitePostHead {
  project_id: ProjectId
  list_id: ListId
  body_html: string | null
  body_text: string | null
  body_markdown: string | null
  likes: number
}

/** Where it stands on the site, below the site's base. */
export const postPath = ({ slug, id }: Pick<SitePostHead, 'slug' | 'id'>): string => `/p/${slug ?? formatId('post', id)}`

export const titleOf = ({ subject }: Pick<SitePostHead, 'subject'>, { name }: Pick<SiteRow, 'name'>): string =>
  plainLine(subject, { list_name: name }) || name

const excerptLetters = 220

/** What a post is about: what mail programs show beside the subject, or how it begins. */
export function excerptOf(post: Pick<SitePostHead, 'preview_text' | 'beginning' | 'is_html'>, { name }: Pick<SiteRow, 'name'>): string {
  const preview = plainLine(post.preview_text ?? '', { list_name: name })
  if (preview !== '') return shortened(preview)
  const words = post.is_html ? wordsOfHtml(post.beginning) : wordsOfMarkdown(post.beginning)
  return shortened(plainBeginning(words))
}

/** A beginning may end within a tag. */
const plainBeginning = (words: string): string => words.replace(/\{\{[^{}]*\}\}|\{%[^{}]*%\}/g, '').replace(/\{[{%][^{}]*$/, '')

const hidden = /<(style|script|title|head)[\s>][\s\S]*?(?:<\/\1|$)/gi
const wordsOfHtml = (html: string): string =>
  html
    .replace(hidden, ' ')
    .replace(/<[^<>]*(?:>|$)/g, ' ')
    .replace(/&(nbsp|#160|zwnj|#847|shy);/g, ' ')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name] ?? ' ')

const wordsOfMarkdown = (markdown: string): string =>
  markdown
    .replace(/^\s{0,3}(?:#{1,6}\s.*|[-=*_]{3,}\s*)$/gm, ' ')
    .replace(/!\[[^\]]*\](?:\([^)]*\))?/g, ' ')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^<>]*(?:>|$)/g, ' ')
    .replace(/^\s{0,3}(?:>|[-+*]|\d+[.)])\s+/gm, '')
    .replace(/[*_`~]{1,3}/g, '')

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line.length <= excerptLetters) return line
  const cut = line.slice(0, excerptLetters)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), excerptLetters - 40)).replace(/[\s,.;:–—-]+$/, '')} …`
}

const wordsAMinute = 230
export const readingMinutes = (words: number): number => Math.max(1, Math.round(words / wordsAMinute))

/**
 * Where a list's site is without a domain of its own: a subdomain of this installation, or a path where there can be none (an IP address).
 * The path works everywhere.
 */
export function defaultSiteUrl({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>, subdomain: string): string {
  const url = new URL(PUBLIC_URL)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) ? `${PUBLIC_URL}/s/${subdomain}` : `${url.protocol}//${subdomain}.${url.host}`
}

/** The one address of a site that search engines and feeds are told. */
export const canonicalUrl = (config: Pick<Config, 'PUBLIC_URL'>, site: Pick<SiteRow, 'subdomain' | 'domain'>): string =>
  site.domain === null ? defaultSiteUrl(config, site.subdomain) : `https://${site.domain}`
