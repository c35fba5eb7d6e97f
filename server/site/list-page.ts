import type { FastifyReply } from 'fastify'
import { type Html, html } from '../base/html.ts'
import type { ListRow } from '../features/lists/index.ts'
import { sendPage } from './page.ts'
import { sendSitePage, siteFor } from './public/layout.ts'

interface ListPage {
  /** Null when it is gone: then the page has the look of the installation. */
  list: ListRow | null
  status?: number
  title: string
  content: Html
}

/** A page behind a link in somebody's mail, in the look of the list that the mail was from. It is here, whatever host the site has. */
export function sendListPage(reply: FastifyReply, { list, status = 200, title, content }: ListPage): FastifyReply {
  if (!list) return sendPage(reply, status, title, content)
  const row = { ...list, list_id: list.id, subscriber_count: null, has_posts: false, domain: list.site_domain, version: '' }
  return sendSitePage(reply, status, siteFor(reply.request, row, ''), { title, content: html`<div class="narrow">${content}</div>` })
}
