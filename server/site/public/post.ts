import type { FastifyRequest } from 'fastify'
import { Html, html } from '../../base/html.ts'
import { type PostId, parseId } from '../../base/ids.ts'
import { peerOf } from '../../base/peer-address.ts'
import {
  findSitePost,
  isReader,
  postPath,
  type RenderPost,
  readingMinutes,
  type SitePostPage,
  titleOf,
  type ViewRecorder,
} from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { type Site, type SiteDocument, siteDocument } from './layout.ts'
import { likeButton } from './like.ts'
import { dayOf } from './post-list.ts'
import type { View } from './serve.ts'
import { siteCard } from './site-card.ts'
import { invitation } from './subscribe-here.ts'

export interface PostParts {
  services: Services
  render: RenderPost
  views: ViewRecorder
}

const isPlace = /^[\w-]{1,100}$/

/** One post, at its place. Who asks for it by its id is led there. */
export function postView({ services, render, views }: PostParts, request: FastifyRequest, slug: string): View<SitePostPage | null> {
  const id = parseId('post', slug) as PostId | null
  return {
    key: `/p/${slug}`,
    load: async (subdomain) => (isPlace.test(slug) ? findSitePost(services.database, subdomain, { slug, id }) : null),
    async show(site, post) {
      if (!post || !site.show_posts) return null
      if (id !== null && post.slug !== null && post.slug !== slug) return leadTo(`${site.base}${postPath(post)}`)
      return showPost(services, { site, post, body: await render(post, site) })
    },
    seen(post) {
      views.note(post, { peer: peerOf(request), agent: request.headers['user-agent'] ?? '' }, () => isReader(request))
    },
  }
}

const leadTo = (location: string): SiteDocument => ({ status: 301, headers: { location }, body: '' })

interface Shown {
  site: Site
  post: SitePostPage
  body: Awaited<ReturnType<RenderPost>>
}

function showPost(services: Services, { site, post, body }: Shown): SiteDocument {
  const title = body?.title || titleOf(post, site)
  const path = postPath(post)
  const excerpt = body?.excerpt ?? post.site_excerpt
  const minutes = body ? html` · ${site.words.read(readingMinutes(body.words))}` : null
  const subtitle = body?.preview ? html`<p class="subtitle">${excerpt}</p>` : null
  return {
    ...siteDocument(site, {
      title: `${title}: ${site.name}`,
      path,
      head: siteCard(site, {
        title,
        description: excerpt,
        path,
        type: 'article',
        image: body?.image ?? null,
        published: post.at,
        updated: post.updated_at,
      }),
      styles: body?.styles ?? [],
      content: html`<article><p class="eyebrow">${dayOf(post.at, site)}${minutes}</p><h1>${title}</h1>${subtitle}
${words(site, body)}${likeButton(site, post)}</article>${subscribeCard(services, site)}${around(site, post)}`,
    }),
    post: { project_id: post.project_id, list_id: post.list_id, post_id: post.id },
  }
}

const subscribeCard = (services: Services, site: Site): Html =>
  html`<aside class="after card" aria-labelledby="more"><h2 class="title" id="more">${site.words.moreLikeThis(site.name)}</h2><p>${site.words.byMail}</p>${invitation(services, site, 'post')}</aside>`

/** What the author wrote has been made safe; colours of their own were chosen for white paper, and get it. */
const words = (site: Site, body: Shown['body']): Html =>
  body === null
    ? html`<p class="soft">${site.words.notShown}</p>`
    : html`<div class="words${body.is_coloured ? ' own' : ''}">${new Html(body.html)}</div>`

function around(site: Site, { older, newer }: SitePostPage): Html | null {
  if (!older && !newer) return null
  const link = (one: NonNullable<SitePostPage['older']>, where: 'older' | 'newer') =>
    html`<a class="${where}" rel="${where === 'older' ? 'prev' : 'next'}" href="${site.base}${postPath(one)}"><span>${where === 'older' ? site.words.olderPost : site.words.newerPost}</span>${titleOf(one, site)}</a>`
  return html`<nav class="around" aria-label="${site.words.archive}">${older && link(older, 'older')}${newer && link(newer, 'newer')}</nav>`
}
