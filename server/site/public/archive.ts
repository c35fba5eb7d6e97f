import { type Html, html } from '../../base/html.ts'
import { formatId, type PostId, parseId } from '../../base/ids.ts'
import { pageSitePosts, type SitePostHead, searchSitePosts } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { type Site, siteDocument } from './layout.ts'
import { postList } from './post-list.ts'
import type { View } from './serve.ts'
import { siteCard } from './site-card.ts'

const pageSize = 20
const maxQueryLetters = 100
const maxWords = 8

export interface ArchiveQuery {
  page?: unknown
  q?: unknown
}

/** All posts, newest first. `page` is the last post of the page before: what is published meanwhile moves nothing. */
export function archiveView({ database }: Services, query: ArchiveQuery): View<SitePostHead[]> {
  const after = parseId('post', String(query.page ?? '')) as PostId | null
  const q = (typeof query.q === 'string' ? query.q : '').replace(/\s+/g, ' ').trim().slice(0, maxQueryLetters)
  const words = q.match(/[\p{L}\p{N}\p{M}]+/gu)?.slice(0, maxWords) ?? []
  const filter = { after, words, limit: pageSize + 1 }
  return {
    key: q === '' ? `/archive ${after ?? ''}` : null,
    load: async (subdomain) =>
      q === ''
        ? pageSitePosts(database, { ...filter, subdomain })
        : words.length === 0
          ? []
          : searchSitePosts(database, { ...filter, subdomain }),
    // Past the last post there is no page.
    show: (site, posts) => (site.show_posts && (after === null || posts.length > 0) ? archive(site, { posts, q, after }) : null),
  }
}

interface Shown {
  posts: SitePostHead[]
  q: string
  after: PostId | null
}

function archive(site: Site, { posts, q, after }: Shown) {
  const { base, words } = site
  const title = q === '' ? words.archive : words.found(q)
  const isFirst = q === '' && after === null
  return siteDocument(site, {
    title: `${title}: ${site.name}`,
    // Pages further down move with every new post, and searches are nobody else's: search engines find posts by the sitemap.
    path: isFirst ? '/archive' : null,
    current: 'archive',
    ...(isFirst
      ? { head: siteCard(site, { title: `${title}: ${site.name}`, description: site.description, path: '/archive', type: 'website' }) }
      : {}),
    content: html`<div class="hero"><h1>${words.archive}</h1>${searchForm(site, q)}${q === '' ? null : html`<p class="fine"><a href="${base}/archive">${words.allPosts}</a></p>`}</div>
${posts.length === 0 ? none(site, q) : html`<div class="archive">${postList(site, posts.slice(0, pageSize))}</div>`}${pages(site, { posts, q, after })}`,
  })
}

const searchForm = ({ base, words }: Site, q: string): Html =>
  html`<form class="inline" role="search" action="${base}/archive"><label class="hidden" for="q">${words.searchPosts}</label><input type="search" id="q" name="q" value="${q}" placeholder="${words.searchPosts}" maxlength="${maxQueryLetters}"><button class="quiet">${words.search}</button></form>`

const none = ({ words }: Site, q: string): Html =>
  html`<p class="none" role="status">${q === '' ? words.noPostsYet : words.foundNone(q)}</p>`

function pages({ base, words }: Site, { posts, q, after }: Shown): Html | null {
  const last = posts.length > pageSize ? posts[pageSize - 1] : undefined
  if (!last && after === null) return null
  const search = q === '' ? '' : `&q=${encodeURIComponent(q)}`
  const older = last ? html`<a rel="next" href="${base}/archive?page=${formatId('post', last.id)}${search}">${words.older}</a>` : null
  const newest = after === null ? null : html`<a href="${base}/archive${q === '' ? '' : `?q=${encodeURIComponent(q)}`}">${words.newest}</a>`
  return html`<nav class="pages" aria-label="${words.archive}">${newest}${older}</nav>`
}
