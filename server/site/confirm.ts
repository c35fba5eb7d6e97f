import type { FastifyInstance, FastifyReply } from 'fastify'
import { html } from '../base/html.ts'
import { preferencesUrl } from '../features/preferences/index.ts'
import { type Confirmation, confirmSubscriber, findByConfirmToken } from '../features/subscribers/index.ts'
import { viewOf, type WaitlistView } from '../features/waitlists/index.ts'
import type { Services } from '../operations/context.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'
import { placeOf } from './waitlist.ts'

/**
 * Where the double opt-in mail leads. Mail scanners follow every link they see, so looking (GET) changes nothing; pressing the button
 * (POST) confirms. The token is the proof: no cookie, no login.
 */
export function addConfirmPages(app: FastifyInstance, services: Services): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string', bodyLimit: 1024 }, async () => undefined)
  const path = '/confirm/:token'

  app.get<{ Params: { token: string } }>(path, async (request, reply) => {
    const found = await findByConfirmToken(services, request.params.token)
    if (!found) return sendPage(reply, 404, 'Link not valid', unknownLink)
    const { list, subscriber, isTheirs } = found
    if (subscriber.status !== 'pending') return sendOutcome(services, reply, found)
    const email = isTheirs ? subscriber.email : null
    const content = html`${(list.type === 'waitlist' ? joining : subscribing)(list.name, email)}
<p class="fine">You did not ask for this? Close the page: without the button, nothing happens.</p>`
    return sendListPage(reply, { list, title: `Confirm: ${list.name}`, content })
  })

  app.post<{ Params: { token: string } }>(path, async (request, reply) => {
    const done = await confirmSubscriber(services, request.params.token)
    return done ? sendOutcome(services, reply, done) : sendPage(reply, 404, 'Link not valid', unknownLink)
  })
}

async function sendOutcome(services: Services, reply: FastifyReply, { list, subscriber, isTheirs }: Confirmation): Promise<FastifyReply> {
  if (subscriber.status !== 'active') return sendListPage(reply, { list, status: 410, title: list.name, content: withdrawn(list.name) })
  const view = await viewOf(services, list, subscriber)
  return sendListPage(reply, { list, title: list.name, content: confirmed(view, isTheirs ? preferencesUrl(services, subscriber) : null) })
}

const unknownLink = html`<h1>This link is not valid</h1><p>It may have been cut off on its way. Copy the whole link from the mail, or subscribe once more to get a new one.</p>`
const subscribing = (name: string, email: string | null) =>
  html`<h1>Confirm your subscription</h1><p>Press the button, and ${email === null ? 'you get' : html`<strong>${email}</strong> gets`} <strong>${name}</strong>.</p>
<form method="post"><button>Yes, subscribe me</button></form>`
const joining = (name: string, email: string | null) =>
  html`<h1>Confirm your place</h1><p>Press the button, and ${email === null ? 'you are' : html`<strong>${email}</strong> is`} on the waitlist of <strong>${name}</strong>.</p>
<form method="post"><button>Yes, this is me</button></form>`
const confirmed = (view: WaitlistView, preferences: string | null) =>
  view.standing
    ? html`<h1>You are on the waitlist</h1><p>You have a place in the line of <strong>${view.list.name}</strong>.</p>${placeOf(view)}
<p class="part"><a href="${view.standing.status_url}">Keep this link: it shows where you stand.</a></p>`
    : html`<h1>You are subscribed</h1><p><strong>${view.list.name}</strong> will come to your inbox. You can leave at any time with the link in each mail.</p>
${view.list.welcome_message ? html`<p class="lead">${view.list.welcome_message}</p>` : null}${preferences && html`<p><a href="${preferences}">Choose what you get</a></p>`}`
const withdrawn = (name: string) =>
  html`<h1>This subscription has ended</h1><p>You left <strong>${name}</strong> after this link was sent. To come back, subscribe once more.</p>`
