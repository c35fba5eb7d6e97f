import type { FastifyInstance } from 'fastify'
import { html } from '../base/html.ts'
import { findLeaving, type Leaving, leaveList } from '../features/recipients/index.ts'
import type { Services } from '../operations/context.ts'
import { sendPage } from './page.ts'

const maxBytes = 16 * 1024

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

  app.get<{ Params: { token: string } }>(path, async (request, reply) => {
    const leaving = await findLeaving(services, request.params.token)
    if (!leaving) return sendPage(reply, 404, 'Link not valid', unknownLink)
    const { list, email, status } = leaving
    if (!list || status === null || status === 'unsubscribed') return sendPage(reply, 200, 'Unsubscribed', done(leaving))
    return sendPage(
      reply,
      200,
      `Unsubscribe: ${list.name}`,
      html`<h1>Unsubscribe</h1><p>Press the button, and <strong>${email}</strong> gets no more of <strong>${list.name}</strong>.</p>
<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click"><button>Unsubscribe me</button></form>
<p class="soft">You want to stay? Close the page: without the button, nothing happens.</p>`,
    )
  })

  app.post<{ Params: { token: string } }>(path, { config: { isCounted: false } }, async (request, reply) => {
    const { token } = request.params
    const leaving = (await leaveList(services, token)) ? await findLeaving(services, token) : null
    return leaving ? sendPage(reply, 200, 'Unsubscribed', done(leaving)) : sendPage(reply, 404, 'Link not valid', unknownLink)
  })
}

const unknownLink = html`<h1>This link is not valid</h1><p>It may have been cut off on its way, or come from a preview. Copy the whole link from the mail, or use the link in a newer one.</p>`
const done = ({ list, email }: Leaving) =>
  html`<h1>You are unsubscribed</h1><p><strong>${email}</strong> gets no more of ${list ? html`<strong>${list.name}</strong>` : 'this list'}. To come back, subscribe once more.</p>`
