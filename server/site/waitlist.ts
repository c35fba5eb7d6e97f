import type { FastifyInstance } from 'fastify'
import { type Html, html } from '../base/html.ts'
import { acceptInvitation, findInvitation, findWaitlistView, leaveWaitlist, type WaitlistView } from '../features/waitlists/index.ts'
import type { Services } from '../operations/context.ts'
import { sendListPage } from './list-page.ts'
import { sendPage } from './page.ts'

const maxBytes = 16 * 1024

interface WithToken {
  Params: { token: string }
}

/**
 * What somebody on a waitlist sees: where they stand, and an invitation. The tokens are the proof, no cookie, no login. Mail scanners follow
 * every link, so looking (GET) changes nothing; the buttons (POST) do, and so does a mailbox provider's one click (RFC 8058).
 */
export function addWaitlistPages(app: FastifyInstance, services: Services): void {
  // Whatever the form or the provider sends along: whoever posts here with this token wants one thing.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBytes }, async () => undefined)

  app.get<WithToken>('/w/:token', async (request, reply) => {
    const view = await findWaitlistView(services, request.params.token)
    if (!view) return sendPage(reply, 404, 'Link not valid', unknownLink)
    return sendListPage(reply, { list: view.list, title: view.list.name, content: statusOf(view) })
  })

  app.post<WithToken>('/w/:token', { config: { isCounted: false } }, async (request, reply) => {
    await leaveWaitlist(services, request.params.token)
    const view = await findWaitlistView(services, request.params.token)
    if (!view) return sendPage(reply, 404, 'Link not valid', unknownLink)
    return sendListPage(reply, { list: view.list, title: view.list.name, content: left(view) })
  })

  app.get<WithToken>('/invited/:token', async (request, reply) => {
    const invitation = await findInvitation(services, request.params.token)
    if (!invitation) return sendPage(reply, 404, 'Link not valid', unknownLink)
    const { list, status } = invitation
    if (status === 'accepted') return sendListPage(reply, { list, title: list.name, content: accepted(list.name) })
    if (status !== 'invited') return sendListPage(reply, { list, status: 410, title: list.name, content: ended(list.name) })
    const content = html`<h1>You are invited</h1><p>Your turn has come: <strong>${list.name}</strong> has a place for you.</p>
<form method="post"><button>Accept the invitation</button></form>
<p class="fine">You changed your mind? Close the page: without the button, nothing happens.</p>`
    return sendListPage(reply, { list, title: list.name, content })
  })

  app.post<WithToken>('/invited/:token', async (request, reply) => {
    const done = await acceptInvitation(services, request.params.token)
    if (!done) return sendPage(reply, 404, 'Link not valid', unknownLink)
    if (done.status !== 'accepted')
      return sendListPage(reply, { list: done.list, status: 410, title: done.list.name, content: ended(done.list.name) })
    return sendListPage(reply, { list: done.list, title: done.list.name, content: accepted(done.list.name) })
  })
}

const unknownLink = html`<h1>This link is not valid</h1><p>It may have been cut off on its way, or the list is gone. Copy the whole link from the mail, or join once more to get a new one.</p>`
const accepted = (name: string): Html => html`<h1>You are in</h1><p>You have accepted the invitation to <strong>${name}</strong>.</p>`
const ended = (name: string): Html =>
  html`<h1>This invitation has ended</h1><p>You have left <strong>${name}</strong> since it was sent.</p>`
/** Without the address: it may be another than the one that this link went to. */
const left = ({ list }: WaitlistView): Html =>
  html`<h1>You have left</h1><p>You are not on the list of <strong>${list.name}</strong> any more. To come back, join once more.</p>`

function statusOf(view: WaitlistView): Html {
  const { list, subscriber, standing } = view
  if (!standing || subscriber.status === 'unsubscribed' || subscriber.status === 'bounced') return left(view)
  return html`<h1>${list.name}</h1>${placeOf(view)}
<form class="part" method="post"><button class="danger">Leave the waitlist</button></form>`
}

/** Where they stand and what brings them on: also for the page after confirming. */
export function placeOf({ list, subscriber, standing }: WaitlistView): Html {
  if (!standing) return html``
  if (standing.status === 'accepted') return html`<p>You are in: you have accepted the invitation.</p>`
  if (standing.status === 'invited')
    return html`<p>Your turn has come: <a href="${standing.accept_url}">see your invitation</a>. It is in your mailbox as well.</p>`
  const ahead = (standing.position ?? 1) - 1
  return html`<p class="place">You are number <strong>${standing.position}</strong> of ${standing.of}</p>
<p>${ahead === 0 ? 'You are next.' : `${ahead} ${ahead === 1 ? 'person is' : 'people are'} before you.`} We write to you when it is your turn.</p>
${subscriber.status === 'pending' ? html`<p class="wrong">You have not confirmed yet, and are not invited before you do: press the button behind the link in our first mail.</p>` : null}
${list.referral_boost > 0 ? sharing(list, standing) : null}`
}

const sharing = (
  { name, referral_boost: boost }: WaitlistView['list'],
  { referral_url, referral_count }: NonNullable<WaitlistView['standing']>,
): Html => {
  const mail = `mailto:?subject=${encodeURIComponent(name)}&body=${encodeURIComponent(`Join me on the waitlist of ${name}: ${referral_url}`)}`
  return html`<section class="part"><h2>Move up</h2><p>Everybody who joins by your link and confirms moves you up ${boost} ${boost === 1 ? 'place' : 'places'}. So far: <strong>${referral_count}</strong>.</p>
<label for="link">Your link</label><p><input type="text" id="link" readonly value="${referral_url}"></p><p><a href="${mail}">Send it to a friend by e-mail</a></p></section>`
}
