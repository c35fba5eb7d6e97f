import { type Html, html } from '../../base/html.ts'
import { postPath, type SitePostHead, titleOf } from '../../features/sites/index.ts'
import type { Site } from './layout.ts'
import { formatDay } from './words.ts'

/** Posts one under the other, each with its day and how it begins. */
export const postList = (site: Site, posts: SitePostHead[]): Html =>
  html`<ol class="posts">${posts.map((post) => postItem(site, post))}</ol>`

function postItem(site: Site, post: SitePostHead): Html {
  const excerpt = post.site_excerpt
  return html`<li><p class="eyebrow">${dayOf(post.at, site)}</p><h2 class="title"><a href="${site.base}${postPath(post)}">${titleOf(post, site)}</a></h2>${excerpt ? html`<p>${excerpt}</p>` : null}</li>`
}

export const dayOf = (at: Date, { language }: Pick<Site, 'language'>): Html =>
  html`<time datetime="${at.toISOString()}">${formatDay(at, language)}</time>`
