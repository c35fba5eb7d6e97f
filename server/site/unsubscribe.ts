import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Html, html } from '../base/html.ts'
import { preferencesUrl } from '../features/preferences/index.ts'
import { canReturn, findLeaving, giveReason, type Leaving, leaveList, returnToList } from '../features/recipients/index.ts'
import type { Services } from '../operations/context.ts'
import { acceptForms, fieldOf } from './forms.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'

const maxBytes = 16 * 1024

interface WithToken {
  Params: { token: string }
}

/**
 * The way out of a list, in every mail. Looking (GET) changes nothing: mail scanners follow every link they see. A POST unsubscribes,
 * be it the button or a mailbox provider's one click (RFC 8058). The token is the proof: no cookie, no login, no redirect, and no
 * counting of requests, because a provider posts for all its users from a few addresses.
 */
export function addUnsubscribePages(app: FastifyInstance, services: Services): void {
  // `List-Unsubscribe=One-Click`, urlencoded or multipart, or nothing: whoever posts here with this token wants one thing.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBytes }, async () => undefined)
  const path = '/u/:token'

  app.get<WithToken>(path, async (request, reply) => show(services, reply, request.params))

  app.post<WithToken>(path, { config: { isCounted: false } }, async (request, reply) => {
    const { token } = request.params
    await leaveList(services, token)
    return show(services, reply, { token })
  })

  app.register(async (scope) => addAfterwards(scope, services))
}

/** What the page offers to who has left: to say why, and to come back. */
function addAfterwards(app: FastifyInstance, services: Services): void {
  acceptForms(app, services.config)

  app.post<WithToken>('/u/:token/reason', async (request, reply) => {
    const { token } = request.params
    const reason = reasonOf(fieldOf(request, 'reason'), fieldOf(request, 'words'))
    const hasSaidWhy = reason !== '' && (await giveReason(services, token, reason))
    return show(services, reply, { token, hasSaidWhy })
  })

  app.post<WithToken>('/u/:token/undo', async (request, reply) => {
    const { token } = request.params
    await returnToList(services, token)
    return show(services, reply, { token, isBack: true })
  })
}

const reasons = ['It comes too often', 'It is not for me any more', 'I never subscribed to it', 'It looks bad or broken on my screen']
const maxWords = 500

/** One of the reasons offered, their own words, or both. */
const reasonOf = (chosen: string, words: string): string =>
  [reasons.find((reason) => reason === chosen), words.replace(/\s+/g, ' ').slice(0, maxWords).trim()].filter(Boolean).join(': ')

interface Shown {
  token: string
  hasSaidWhy?: boolean
  /** They have just pressed the button that brings them back. */
  isBack?: boolean
}

/** How things stand, whatever was pressed. */
async function show(services: Services, reply: FastifyReply, shown: Shown): Promise<FastifyReply> {
  const leaving = await findLeaving(services, shown.token)
  if (!leaving) return sendPage(reply, 404, 'Link not valid', unknownLink)
  const { list, subscriber } = leaving
  if (!list || !subscriber) return sendListPage(reply, { list, title: 'Unsubscribed', content: left(leaving) })
  const preferences = leaving.has_moved ? null : preferencesUrl(services, subscriber)
  if (subscriber.status !== 'unsubscribed') {
    const content = (shown.isBack ? back : staying)(leaving, preferences)
    return sendListPage(reply, { list, title: `${shown.isBack ? 'Welcome back' : 'Unsubscribe'}: ${list.name}`, content })
  }
  const isUndone = canReturn(leaving, services.clock.now())
  const content = html`${left(leaving)}
${isUndone ? html`<form method="post" action="/u/${shown.token}/undo"><button class="quiet">Subscribe me again</button></form>` : html`<p>To come back, subscribe once more.</p>`}
${shown.hasSaidWhy ? html`<p class="done" role="status">Thank you: we have told them.</p>` : whyForm(shown.token)}
${preferences && html`<p class="part"><a href="${preferences}">Other lists, and your data</a></p>`}`
  return sendListPage(reply, { list, title: 'Unsubscribed', content })
}

const nameOf = ({ list }: Leaving): Html => (list ? html`<strong>${list.name}</strong>` : html`this list`)
const left = (leaving: Leaving): Html =>
  html`<h1>You are unsubscribed</h1><p>${leaving.email === null ? 'You get' : html`<strong>${leaving.email}</strong> gets`} no more of ${nameOf(leaving)}.</p>`
const back = (leaving: Leaving, preferences: string | null): Html =>
  html`<h1>Welcome back</h1><p><strong>${leaving.email}</strong> gets ${nameOf(leaving)} as before.</p>${preferences && html`<p><a href="${preferences}">Choose what you get</a></p>`}`
const staying = (leaving: Leaving, preferences: string | null): Html =>
  html`<h1>Unsubscribe</h1><p>Press the button, and <strong>${leaving.email}</strong> gets no more of ${nameOf(leaving)}.</p>
<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button>Unsubscribe me</button></form>
${preferences && html`<p>Or <a href="${preferences}">choose what you get</a>: other lists, a pause, another address.</p>`}
<p class="fine">You want to stay? Close the page: without the button, nothing happens.</p>`

const whyForm = (token: string): Html =>
  html`<section class="part"><form method="post" action="/u/${token}/reason"><fieldset><legend>Why, if you like to say?</legend>
${reasons.map((reason) => html`<label class="choice"><input type="radio" name="reason" value="${reason}"> ${reason}</label>`)}
</fieldset><label for="words">In your own words</label>
<div class="inline"><input type="text" id="words" name="words" maxlength="${maxWords}" autocomplete="off"><button class="quiet">Send</button></div></form></section>`

const unknownLink = html`<h1>This link is not valid</h1><p>It may have been cut off on its way, or come from a preview. Copy the whole link from the mail, or use the link in a newer one.</p>`
