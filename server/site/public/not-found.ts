import type { FastifyReply } from 'fastify'
import { html } from '../../base/html.ts'
import { sendPage } from '../page.ts'
import { type Site, sendSitePage } from './layout.ts'
import { wordsFor } from './words.ts'

export const sendNotFound = (reply: FastifyReply, site: Site): FastifyReply =>
  sendSitePage(reply, 404, site, {
    title: `${site.words.notFound}: ${site.name}`,
    content: html`<div class="narrow"><h1>${site.words.notFound}</h1><p>${site.words.notFoundText}</p><p><a href="${site.base}/">${site.words.backTo(site.name)}</a></p></div>`,
  })

export function sendNoSite(reply: FastifyReply): FastifyReply {
  const words = wordsFor('en')
  return sendPage(reply, 404, words.noSite, html`<h1>${words.noSite}</h1><p>${words.noSiteText}</p>`)
}
