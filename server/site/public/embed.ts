import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ApiError, invalid, notFound } from '../../base/errors.ts'
import { html } from '../../base/html.ts'
import { checkInput } from '../../operations/check-input.ts'
import type { Services } from '../../operations/context.ts'
import { email, lineOrNone, text } from '../../operations/schemas.ts'
import { type Site, sendSitePage } from './layout.ts'
import { sendNoSite } from './not-found.ts'
import type { SiteVisit } from './serve.ts'
import { subscribe } from './subscribe-visitor.ts'
import { createSiteFinder } from './visited-site.ts'

const maxBytes = 8 * 1024

const Body = z.object({
  email,
  name: lineOrNone(200).optional(),
  // The field that nobody sees: a form may have it, and a program fills it in.
  website: text(2_000).optional(),
})

const asked = { status: 'check_your_inbox' }

/**
 * For other people's pages: a form to copy (GET /embed), and an endpoint for scripts (POST /subscribe.json), which any page may call. Neither
 * reads a cookie. The answer is the same whoever is on the list.
 */
export function addEmbedding(app: FastifyInstance, services: Services): void {
  const siteOf = createSiteFinder(services)

  app.get<SiteVisit>('/s/:subdomain/embed', async (request, reply) => {
    const site = await siteOf(request)
    return site ? sendSitePage(reply, 200, site, instructions(site)) : sendNoSite(reply)
  })

  const path = '/s/:subdomain/subscribe.json'
  // Also on refusals: a page has to be able to read why.
  app.addHook('onSend', async (request, reply) => {
    if (request.routeOptions.url === path) reply.headers({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' })
  })

  app.options(path, async (_request, reply) =>
    reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'content-type',
        'access-control-max-age': '86400',
      })
      .send(),
  )

  app.post<SiteVisit>(path, { bodyLimit: maxBytes }, async (request, reply) => {
    const site = await siteOf(request)
    if (!site) throw notFound('list')
    const { email: address, name = '', website = '' } = checkInput(Body, request.body, 'body')
    if (website !== '') return reply.send(asked)
    const refusal = await subscribe(services, request, { site, email: address, name })
    if (refusal === 'disposable') throw invalid('email', 'is a throw-away address; use one that you keep')
    if (refusal) throw new ApiError('conflict', `This waitlist is ${refusal} at the moment.`)
    return reply.send(asked)
  })
}

/** Reads the same in every page: no script, no style of its own, and nothing of this server is loaded before somebody presses the button. */
const formToCopy = ({ url, words }: Site): string =>
  html`<form action="${url}/subscribe" method="post">
  <input type="hidden" name="from" value="embed">
  <p hidden><label>Leave this empty <input type="text" name="website" tabindex="-1" autocomplete="off"></label></p>
  <label>${words.yourEmail} <input type="email" name="email" autocomplete="email" required></label>
  <button>${words.subscribe}</button>
</form>`.text

const scriptToCopy = ({ url }: Site): string =>
  `fetch('${url}/subscribe.json', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email, name }),
}).then((answer) => answer.json()).then(console.log)
// 200: { "status": "check_your_inbox" }; else: { "error": { "code", "message" } }`

const instructions = (site: Site) => ({
  title: `${site.words.embed}: ${site.name}`,
  content: html`<div class="narrow"><h1>${site.words.embed}</h1><p>${site.words.embedForm}</p>
<p><label for="form">HTML</label><textarea id="form" rows="8" readonly spellcheck="false">${formToCopy(site)}</textarea></p>
<p>${site.words.embedScript}</p><p><label for="script">JavaScript</label><textarea id="script" rows="7" readonly spellcheck="false">${scriptToCopy(site)}</textarea></p>
<p class="fine">${site.words.embedSame}</p></div>`,
})
