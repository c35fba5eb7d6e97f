import type { FastifyInstance } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { peerOf } from '../base/peer-address.ts'
import { createSnsReceiver } from '../features/ses/index.ts'
import type { Services } from '../operations/context.ts'

/** SNS messages have at most 256 KiB. */
const maxBytes = 256 * 1024
const windowMs = 60_000
const maxPeers = 10_000

/**
 * Where Amazon SNS tells what became of mail that left through SES. Closed unless SES_TOPICS names a topic. It has no key: the signature
 * of each message is the proof. What comes with a good one is not counted, because SNS posts for a whole newsletter from a few addresses;
 * what does not is, and who sends too much of it is not listened to for the rest of the minute.
 */
export function addSesHook(app: FastifyInstance, services: Services): void {
  const { config, clock } = services
  if (config.SES_TOPICS.length === 0) return
  const receive = createSnsReceiver(services)
  const refusals = createRefusals(config.RATE_LIMIT_PER_MINUTE, () => clock.now().getTime())
  // SNS says text/plain.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string', bodyLimit: maxBytes }, async (_request: unknown, body: unknown) =>
    jsonIn(String(body)),
  )

  app.post('/hooks/ses', {
    config: { isCounted: false },
    onRequest: async (request) => refusals.refuseTooMany(peerOf(request)),
    handler: async (request, reply) => {
      try {
        await receive(request.body)
      } catch (error) {
        if (error instanceof ApiError && error.status < 500) refusals.note(peerOf(request))
        throw error
      }
      return reply.send({ status: 'ok' })
    },
  })
}

/** Null for what is no JSON, which is refused with all else that is no message. */
function jsonIn(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}

/** How often each peer was refused in this minute, in this process. */
function createRefusals(limit: number, nowMs: () => number) {
  let endsAt = 0
  let counts = new Map<string, number>()
  return {
    refuseTooMany(peer: string): void {
      const now = nowMs()
      if (now >= endsAt || endsAt - now > windowMs || counts.size > maxPeers) {
        endsAt = now + windowMs
        counts = new Map()
      }
      if ((counts.get(peer) ?? 0) < limit) return
      const seconds = Math.max(1, Math.ceil((endsAt - now) / 1000))
      throw new ApiError('rate_limited', `Too many messages from here were refused. Wait ${seconds} s.`, {
        headers: { 'retry-after': String(seconds) },
      })
    },
    note(peer: string): void {
      counts.set(peer, (counts.get(peer) ?? 0) + 1)
    },
  }
}
