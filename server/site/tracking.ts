import type { FastifyInstance } from 'fastify'
import { html } from '../base/html.ts'
import { cachedProjectFinder, findTarget, isMachine, startEngagementRecorder } from '../features/recipients/index.ts'
import type { Services } from '../operations/context.ts'
import { sendPage } from './page.ts'

/** One transparent pixel, in as few bytes as every mail program takes. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64')

/** Links and pixels of mail from lists that switched tracking on. The answer comes first; what it means is written down a moment later. */
export function addTracking(app: FastifyInstance, services: Services): void {
  const findProject = cachedProjectFinder(services.database)
  const recorder = startEngagementRecorder(services, findProject)
  app.addHook('onClose', () => recorder.stop())

  app.get<{ Params: { token: string; number: string } }>('/c/:token/:number', async (request, reply) => {
    const { token, number } = request.params
    const target = await findTarget(services, { token, number }, findProject)
    if (target === null) return sendPage(reply, 404, 'Link not valid', unknownLink)
    recorder.note(token, { link: Number(number), isMachine: isMachine(request) })
    // A header holds ASCII only; authors write what they like.
    const location = new URL(target).href
    return reply.code(302).headers({ location, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).send()
  })

  // Whoever makes up a token sees the same picture: nothing is to be learned here.
  app.get<{ Params: { token: string } }>('/o/:token.gif', async (request, reply) => {
    recorder.note(request.params.token, { link: null, isMachine: isMachine(request) })
    return reply.type('image/gif').header('cache-control', 'no-store').send(pixel)
  })
}

const unknownLink = html`<h1>This link leads nowhere</h1><p>It may have been cut off on its way, or the mail is so old that we do not know it any more. Copy the whole link from the mail.</p>`
