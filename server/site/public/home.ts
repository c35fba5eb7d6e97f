import { type Html, html } from '../../base/html.ts'
import { pageSitePosts, type SitePostHead } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { type Site, siteDocument } from './layout.ts'
import { postList } from './post-list.ts'
import type { View } from './serve.ts'
import { siteCard } from './site-card.ts'
import { invitation } from './subscribe-here.ts'
import { formatCount } from './words.ts'

const newest = 10

/** Who writes, what it is about, the way in, and what was published last. */
export const homeView = (services: Services): View<SitePostHead[]> => ({
  key: '/',
  load: (subdomain) => pageSitePosts(services.database, { subdomain, after: null, words: [], limit: newest + 1 }),
  show: (site, posts) =>
    siteDocument(site, {
      title: site.name,
      path: '/',
      head: siteCard(site, { title: site.name, description: site.description, path: '/', type: 'website' }),
      content: html`${hero(services, site)}${site.show_posts ? latest(site, posts) : null}`,
    }),
})

function hero(services: Services, site: Site): Html {
  const { name, description, logo_url, subscriber_count, language, words } = site
  const logo =
    logo_url === null ? null : html`<img class="logo" src="${logo_url}" alt="" width="72" height="72" referrerpolicy="no-referrer">`
  const count =
    subscriber_count === null
      ? null
      : html`<p class="fine">${words.subscribers(formatCount(subscriber_count, language), subscriber_count === 1)}</p>`
  return html`<div class="hero">${logo}<h1>${name}</h1>${description ? html`<p class="lead">${description}</p>` : null}${invitation(services, site, 'home')}${count}</div>`
}

function latest(site: Site, posts: SitePostHead[]): Html {
  const { base, words, type } = site
  if (posts.length === 0) return type === 'waitlist' ? html`` : html`<p class="soft">${words.noPosts}</p>`
  const all = posts.length > newest ? html`<div class="pages"><a href="${base}/archive">${words.allPosts}</a></div>` : null
  return html`<section aria-labelledby="latest"><div class="section"><h2 class="label" id="latest">${words.latest}</h2></div>${postList(site, posts.slice(0, newest))}${all}</section>`
}
