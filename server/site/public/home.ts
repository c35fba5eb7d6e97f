import { type Html, html } from '../../base/html.ts'
import { pageSitePosts, type SitePostHead } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { type Site, siteDocument } from './layout.ts'
import { postList } from './post-list.ts'
import type { View } from './serve.ts'
import { siteCard } from './site-card.ts'
import { invitation } from './subscribe-here.ts'

const newest = 10

/** Who writes, what it is about, the way in, and what was published last. */
export const homeView = (services: Services): View<SitePostHead[]> => ({
  key: '/',
  load: (subdomain) => pageSitePosts(services.database, { subdomain, after: null, words: [], limit: newest + 1 }),
  show: (site, posts) =>
    siteDocument(site, {
      title: site.name,
      current: 'home',
      path: '/',
      head: siteCard(site, { title: site.name, description: site.description, path: '/', type: 'website' }),
      content: html`${hero(services, site)}${site.show_posts ? latest(site, posts) : null}`,
    }),
})

function hero(services: Services, site: Site): Html {
  const { name, description } = site
  return html`<div class="hero home"><h1>${name}</h1>${description ? html`<p class="lead">${description}</p>` : null}${invitation(services, site, 'home')}</div>`
}

function latest(site: Site, posts: SitePostHead[]): Html {
  const { base, words, type } = site
  if (posts.length === 0) return type === 'waitlist' ? html`` : html`<p class="none">${words.noPosts}</p>`
  const all = posts.length > newest ? html`<div class="pages"><a href="${base}/archive">${words.allPosts}</a></div>` : null
  return html`<section class="latest" aria-labelledby="latest"><h2 class="label" id="latest">${words.latest}</h2>${postList(site, posts.slice(0, newest))}${all}</section>`
}
