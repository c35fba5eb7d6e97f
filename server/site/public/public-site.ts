import type { FastifyInstance } from 'fastify'
import { createRenderPost, startViewRecorder } from '../../features/sites/index.ts'
import type { Services } from '../../operations/context.ts'
import { type ArchiveQuery, archiveView } from './archive.ts'
import { feedView } from './feeds.ts'
import { badgeView, faviconView, robotsView, sitemapView } from './files.ts'
import { homeView } from './home.ts'
import { baseOf } from './hosts.ts'
import { postView } from './post.ts'
import { createSitePages, type SiteVisit, type View } from './serve.ts'

/** People and programs put a slash behind what they copy. Only what is a page here: never to another host. */
const slashed = /^(archive|subscribe|join|embed|p\/[\w-]{1,100})\/$/

/**
 * What everybody may read of a list: /s/{subdomain}/…, and the same at the root of each host that is its site's (`hosts.ts`). Looking changes
 * nothing but who has seen a post, which is written down later.
 */
export function addPublicSite(app: FastifyInstance, services: Services): void {
  const pages = createSitePages(services)
  const render = createRenderPost(services)
  const views = startViewRecorder(services)
  app.addHook('onClose', () => views.stop())
  const at = '/s/:subdomain'

  const add = <Data>(path: string, view: View<Data>) =>
    app.get<SiteVisit>(`${at}${path}`, (request, reply) => pages.serve(request, reply, view))

  for (const path of ['', '/']) add(path, homeView(services))
  // A search is made for one who asks alone, and never kept.
  const isCounted = ({ query }: { query: unknown }) => Boolean((query as ArchiveQuery).q)
  app.get<SiteVisit & { Querystring: ArchiveQuery }>(`${at}/archive`, { config: { isCounted } }, (request, reply) =>
    pages.serve(request, reply, archiveView(services, request.query)),
  )
  app.get<{ Params: SiteVisit['Params'] & { slug: string } }>(`${at}/p/:slug`, (request, reply) =>
    pages.serve(request, reply, postView({ services, render, views }, request, request.params.slug)),
  )
  for (const path of ['/feed.xml', '/atom.xml', '/feed.json'] as const) add(path, feedView(services, render, path))
  add('/sitemap.xml', sitemapView(services))
  add('/robots.txt', robotsView)
  add('/favicon.svg', faviconView)
  add('/badge.svg', badgeView)
  const nothing: View<null> = { key: null, load: async () => null, show: () => null }
  app.get<{ Params: SiteVisit['Params'] & { '*': string } }>(`${at}/*`, (request, reply) => {
    const { subdomain, '*': path } = request.params
    const page = slashed.exec(path)?.[1]
    return page ? reply.redirect(`${baseOf(request, subdomain)}/${page}`, 301) : pages.serve(request, reply, nothing)
  })
}
