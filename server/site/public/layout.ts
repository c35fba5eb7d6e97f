import { createHash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Html, html } from '../../base/html.ts'
import type { PostKey } from '../../features/posts/index.ts'
import type { SiteRow } from '../../features/sites/index.ts'
import { papers } from './colours.ts'
import { baseOf } from './hosts.ts'
import { colourSheet, siteSheet } from './styles.ts'
import { type Words, wordsFor } from './words.ts'

/** A site as a request sees it. */
export interface Site extends SiteRow {
  /** Before every link to a page of it: '' on a host of its own, `/s/{subdomain}` elsewhere. */
  base: string
  /** Its one address, without a slash at the end, for whoever is told where a page is. */
  url: string
  words: Words
}

export const siteFor = (request: Pick<FastifyRequest, 'raw'>, row: SiteRow, url: string): Site => ({
  ...row,
  base: baseOf(request, row.subdomain),
  url,
  words: wordsFor(row.language),
})

export interface SitePage {
  title: string
  content: Html
  /** Below the site's address; null for pages that are nobody else's: search engines do not keep them. */
  path: string | null
  /** For previews and search engines. */
  head?: Html
  /** Styles of an author's own, as rules. */
  styles?: string[]
  /** What of the head leads here: it is not offered once more. */
  current?: 'home' | 'archive' | 'subscribe'
}

export interface SiteDocument {
  /** 200, unless said. */
  status?: number
  body: string
  headers: Record<string, string>
  /** The post that it shows. */
  post?: PostKey
}

/** A whole page in the site's look. It runs no script, and loads nothing but pictures. */
export function siteDocument(site: Site, page: SitePage): SiteDocument {
  // Twice the class: what the author says of an element goes before what we say of all of its kind.
  const own = (page.styles ?? []).map((rule) => `.words.words ${rule}`).join('')
  // A browser reads CR LF as LF (HTML, 13.2.3.5), and compares the hash with what it has read.
  const sheet = (colourSheet(site.accent_color) + siteSheet + own).replace(/\r\n?/g, '\n')
  const canonical =
    page.path === null ? html`<meta name="robots" content="noindex">` : html`<link rel="canonical" href="${site.url}${page.path}">`
  const body = html`<!doctype html>
<html lang="${site.language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="theme-color" content="${papers.light.paper}" media="(prefers-color-scheme:light)"><meta name="theme-color" content="${papers.dark.paper}" media="(prefers-color-scheme:dark)">
<title>${page.title}</title>${canonical}${page.head ?? null}${feedLinks(site)}<link rel="icon" href="${site.base}/favicon.svg" type="image/svg+xml"><style>${new Html(sheet)}</style></head>
<body><a class="skip" href="#text">${site.words.skip}</a>${top(site, page)}<main id="text">${page.content}</main>${foot(site)}</body></html>`
    .text
  return { body, headers: { ...pageHeaders, 'content-security-policy': policyFor(sheet) } }
}

const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
}

const policyFor = (sheet: string): string =>
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(sheet).digest('base64')}'; img-src 'self' https: data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** For answers to what a visitor did: nobody keeps them. */
export function sendSitePage(reply: FastifyReply, status: number, site: Site, page: Omit<SitePage, 'path'>): FastifyReply {
  const { body, headers } = siteDocument(site, { ...page, path: null })
  // Not the policy of pages that lead elsewhere: forms here must be able to tell that they come from here.
  return reply
    .code(status)
    .headers({ ...headers, 'referrer-policy': 'same-origin', 'cache-control': 'no-store' })
    .send(body)
}

const feedLinks = ({ has_posts, base, name }: Site): Html | null =>
  has_posts
    ? html`<link rel="alternate" type="application/rss+xml" title="${name}" href="${base}/feed.xml"><link rel="alternate" type="application/atom+xml" title="${name}" href="${base}/atom.xml"><link rel="alternate" type="application/feed+json" title="${name}" href="${base}/feed.json">`
    : null

function top(site: Site, { current }: SitePage): Html {
  const { base, name, has_posts, words } = site
  const archive = html`<a href="${base}/archive"${current === 'archive' ? new Html(' aria-current="page"') : null}>${words.archive}</a>`
  const nav = has_posts ? html`<nav aria-label="${name}">${archive}${wayIn(site, current)}</nav>` : null
  // The first page says the name in large letters itself.
  return html`<header class="top"><a class="name" href="${base}/">${mark(site)}<span${current === 'home' ? html` class="hidden"` : null}>${name}</span></a>${nav}</header>`
}

/** The list's logo, or else the first letter of its name. */
const mark = ({ logo_url, name }: Site): Html =>
  logo_url === null
    ? html`<span class="mark" data-letter="${firstLetter(name)}" aria-hidden="true"></span>`
    : html`<img class="logo" src="${logo_url}" alt="" width="36" height="36" referrerpolicy="no-referrer">`

export const firstLetter = (name: string): string => [...new Intl.Segmenter().segment(name.trim().toUpperCase())][0]?.segment ?? '•'

function wayIn({ base, type, waitlist_closed, words }: Site, current: SitePage['current']): Html | null {
  if (current === 'home' || current === 'subscribe') return null
  if (type !== 'waitlist') return html`<a class="button" href="${base}/subscribe">${words.subscribe}</a>`
  return waitlist_closed ? null : html`<a class="button" href="${base}/join">${words.joinShort}</a>`
}

function foot({ base, name, footer, postal_address, has_posts, words }: Site): Html {
  const links = has_posts
    ? html`<ul><li><a href="${base}/">${words.home}</a></li><li><a href="${base}/archive">${words.archive}</a></li><li><a href="${base}/feed.xml">${words.feed}</a></li></ul>`
    : null
  const address = postal_address?.startsWith(name) ? postal_address : [name, postal_address].filter(Boolean).join('\n')
  return html`<footer class="foot">${links}${footer ? html`<p>${footer}</p>` : null}<p>${address}</p></footer>`
}
