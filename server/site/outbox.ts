import type { FastifyInstance, FastifyRequest } from 'fastify'
import PostalMime from 'postal-mime'
import { ApiError } from '../base/errors.ts'
import { type Html, html } from '../base/html.ts'
import { isLocalUrl } from '../base/local-url.ts'
import { capturedMessage, capturedMessages, type StoredMessage } from '../delivery/captured-messages.ts'
import type { Services } from '../operations/context.ts'
import { sendPage } from './page.ts'

/** The mail that OUTBOUND=capture kept, for development: `/dev/outbox` as JSON or as a page, `/dev/outbox/{id}` as it would have left. */
export function addOutbox(app: FastifyInstance, { database, config }: Services): void {
  if (config.OUTBOUND !== 'capture' || !isLocalUrl(config.PUBLIC_URL)) return
  app.addHook('onRequest', async (request) => {
    if (!isFromThisMachine(request))
      throw new ApiError('not_found', 'The outbox is shown to this machine only. Open it through http://localhost.')
  })

  app.get('/dev/outbox', async (request, reply) => {
    const messages = await Promise.all((await capturedMessages(database, 100)).map(readable))
    if (!request.headers.accept?.includes('text/html')) return reply.header('cache-control', 'no-store').send(messages)
    const items = messages.map(
      (m) =>
        html`<h2><a href="${m.raw_url}">${m.subject}</a></h2><p class="soft">to ${m.to} · ${m.created_at.toISOString()}</p><pre>${withLinks(m.text ?? '')}</pre>`,
    )
    const content =
      items.length > 0
        ? html`<h1>Captured mail</h1>${items}`
        : html`<h1>Captured mail</h1><p>Nothing has been sent yet. Add a subscriber, and its confirmation mail shows here.</p>`
    return sendPage(reply, 200, 'Captured mail', content)
  })

  app.get<{ Params: { id: string } }>('/dev/outbox/:id', async (request, reply) => {
    const found = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(request.params.id)
      ? await capturedMessage(database, request.params.id)
      : null
    if (!found) throw new ApiError('not_found', 'No such message; it may have been trimmed.')
    return reply.type('text/plain; charset=utf-8').send(found.message)
  })
}

async function readable({ id, envelope_from, envelope_to, subject, message, created_at }: StoredMessage) {
  const { from, subject: shown, text, html: htmlBody } = await PostalMime.parse(message)
  return {
    id,
    from: from?.address ?? envelope_from,
    return_path: envelope_from,
    to: envelope_to,
    // As the reader sees it: the one that was stored is a post's, with its merge tags.
    subject: shown ?? subject,
    text: text ?? null,
    html: htmlBody ?? null,
    created_at,
    raw_url: `/dev/outbox/${id}`,
  }
}

/** The addresses in a text, to click on. */
const withLinks = (text: string): Html[] =>
  text.split(/(https?:\/\/\S+)/).map((part, index) => (index % 2 === 1 ? html`<a href="${part}">${part}</a>` : html`${part}`))

/** A proxy on this machine also comes from loopback, and a hostile page can point its own name here: both are told by their headers. */
function isFromThisMachine(request: FastifyRequest): boolean {
  const peer = request.socket.remoteAddress ?? ''
  const host = request.headers.host?.replace(/:\d+$/, '') ?? ''
  const { origin, 'sec-fetch-site': site } = request.headers
  const isPassedOn = Object.keys(request.headers).some((name) => /^(via|forwarded|x-real-ip|x-forwarded-.*)$/.test(name))
  const isFromAnotherSite = origin !== undefined || site === 'cross-site'
  return /^(::1|(::ffff:)?127\.)/.test(peer) && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(host) && !isPassedOn && !isFromAnotherSite
}
