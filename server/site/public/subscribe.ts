import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../base/errors.ts'
import { html } from '../../base/html.ts'
import type { Services } from '../../operations/context.ts'
import { email } from '../../operations/schemas.ts'
import { fieldOf, isFrom, isFromItsHost, readForms } from '../forms.ts'
import { type Site, sendSitePage } from './layout.ts'
import { sendNoSite } from './not-found.ts'
import type { SiteVisit } from './serve.ts'
import { subscribeForm } from './subscribe-form.ts'
import { subscribe } from './subscribe-visitor.ts'
import { isTimely, isTrapped } from './traps.ts'
import { createSiteFinder } from './visited-site.ts'

/**
 * Where people subscribe to a list. The answer is the same, and takes as long, whether or not the address is on the list: what is so is told to
 * its mailbox. A form that somebody else's page shows (`from=embed`) cannot say when it was made, and may come from anywhere: nobody's
 * cookies are involved, and the limits are the same.
 */
export function addSubscribePages(app: FastifyInstance, services: Services): void {
  readForms(app)
  const siteOf = createSiteFinder(services)
  const own = new Set([new URL(services.config.PUBLIC_URL).origin])
  const path = '/s/:subdomain/subscribe'

  app.get<SiteVisit>(path, async (request, reply) => {
    const site = await siteOf(request)
    if (!site) return sendNoSite(reply)
    if (site.type === 'waitlist') return reply.redirect(`${site.base}/join`, 303)
    return sendForm(services, reply, site, {})
  })

  app.post<SiteVisit>(path, async (request, reply) => {
    const site = await siteOf(request)
    if (!site) return sendNoSite(reply)
    const typed = { email: fieldOf(request, 'email'), name: fieldOf(request, 'name') }
    const isEmbedded = fieldOf(request, 'from') === 'embed'
    if (!isEmbedded && !isFrom(own, request) && !isFromItsHost(request)) throw new ApiError('forbidden', site.words.fromElsewhere)
    if (isTrapped(request)) return sendAsked(reply, site)
    if (!isEmbedded && !isTimely(services, fieldOf(request, 'shown')))
      return sendForm(services, reply, site, { typed, status: 422, problem: site.words.onceMore })
    const parsed = email.safeParse(typed.email)
    if (!parsed.success) return sendForm(services, reply, site, { typed, status: 422, problem: site.words.noAddress })
    return outcome(services, { request, reply, site }, { typed, address: parsed.data })
  })
}

interface Typed {
  email: string
  name: string
}

interface At {
  request: FastifyRequest
  reply: FastifyReply
  site: Site
}

async function outcome(
  services: Services,
  { request, reply, site }: At,
  { typed, address }: { typed: Typed; address: { address: string; key: string } },
): Promise<FastifyReply> {
  try {
    const refusal = await subscribe(services, request, { site, email: address, name: typed.name })
    if (refusal === null) return sendAsked(reply, site)
    if (refusal !== 'disposable') return reply.redirect(`${site.base}/join`, 303)
    return sendForm(services, reply, site, { typed, status: 422, problem: site.words.throwAway })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    reply.headers(error.headers)
    return sendForm(services, reply, site, { typed, status: error.status, problem: site.words.tooMany })
  }
}

const sendAsked = (reply: FastifyReply, site: Site): FastifyReply =>
  sendSitePage(reply, 200, site, {
    title: `${site.words.lookIntoMail}: ${site.name}`,
    current: 'subscribe',
    content: html`<div class="narrow"><h1>${site.words.lookIntoMail}</h1><p>${site.words.mailSent(site.name)}</p><p><a href="${site.base}/">${site.words.backTo(site.name)}</a></p><p class="fine">${site.words.noMail}</p></div>`,
  })

interface Form {
  typed?: Typed
  status?: number
  problem?: string
}

function sendForm(services: Services, reply: FastifyReply, site: Site, { typed, status = 200, problem }: Form): FastifyReply {
  const kept = typed && { email: typed.email.slice(0, 320), name: typed.name.slice(0, 200) }
  const form = subscribeForm(services, site, { withName: true, ...(kept ? { typed: kept } : {}), ...(problem ? { problem } : {}) })
  return sendSitePage(reply, status, site, {
    title: `${site.words.subscribe}: ${site.name}`,
    current: 'subscribe',
    content: html`<div class="narrow"><h1>${site.name}</h1>${site.description ? html`<p class="lead">${site.description}</p>` : null}${form}</div>`,
  })
}
