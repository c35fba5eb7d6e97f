import type { FastifyInstance } from 'fastify'
import { type Html, html } from '../../base/html.ts'
import { type PostId, parseId } from '../../base/ids.ts'
import { peerOf } from '../../base/peer-address.ts'
import { findSitePost, isReader, likePost, postPath, type SitePostRow, titleOf } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { acceptForms } from '../forms.ts'
import { type Site, sendSitePage } from './layout.ts'
import { sendNoSite, sendNotFound } from './not-found.ts'
import type { SiteVisit } from './serve.ts'
import { createSiteFinder } from './visited-site.ts'
import { formatCount } from './words.ts'

/** A heart to press, and how many did. */
export function likeButton(site: Site, post: Pick<SitePostRow, 'id' | 'slug' | 'likes'>): Html {
  const { base, words, language } = site
  const count = post.likes === 0 ? null : html` <span>${formatCount(post.likes, language)}</span>`
  return html`<form class="like" method="post" action="${base}${postPath(post)}/like"><button class="quiet"><span aria-hidden="true">♥</span> ${words.like}${count}</button></form>`
}

/** Liking a post: once a day for each visitor, who is told apart without a cookie. What a program does counts for nothing. */
export function addLikes(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config, { isSite: true })
  const siteOf = createSiteFinder(services)

  app.post<{ Params: SiteVisit['Params'] & { slug: string } }>('/s/:subdomain/p/:slug/like', async (request, reply) => {
    const { subdomain, slug } = request.params
    const id = parseId('post', slug) as PostId | null
    const [site, post] = await Promise.all([siteOf(request), findSitePost(services.database, subdomain, { slug, id })])
    if (!site) return sendNoSite(reply)
    if (!post || !site.show_posts) return sendNotFound(reply, site)
    const { project_id, list_id, id: post_id, likes } = post
    const agent = request.headers['user-agent'] ?? ''
    const isCounted = isReader(request) && (await likePost(services, { project_id, list_id, post_id, peer: peerOf(request), agent }))
    return sendSitePage(reply, 200, site, thanks(site, { ...post, likes: likes + (isCounted ? 1 : 0) }))
  })
}

const thanks = (site: Site, post: SitePostRow) => ({
  title: `${site.words.thankYou}: ${site.name}`,
  content: html`<div class="narrow"><h1>${site.words.thankYou}</h1>${counted(site, post)}<p><a href="${site.base}${postPath(post)}">${site.words.backTo(titleOf(post, site))}</a></p></div>`,
})

const counted = ({ words, language }: Site, { likes }: SitePostRow): Html | null =>
  likes === 0 ? null : html`<p>${words.likes(formatCount(likes, language), likes === 1)}</p>`
