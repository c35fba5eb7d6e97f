import type { FastifyInstance } from 'fastify'
import { findChallenge } from '../features/certificates/index.ts'
import type { Services } from '../operations/context.ts'

/** RFC 8555 section 8.3: where the certificate authority sees that a host leads here. Any process answers for any host. */
export function addAcmeChallenges(app: FastifyInstance, { database }: Pick<Services, 'database'>): void {
  app.get<{ Params: { token: string } }>('/.well-known/acme-challenge/:token', async (request, reply) => {
    const { token } = request.params
    const found = /^[\w-]{1,255}$/.test(token) ? await findChallenge(database, token) : null
    reply.header('cache-control', 'no-store').type(found ? 'application/octet-stream' : 'text/plain; charset=utf-8')
    return found ? found.key_authorization : reply.code(404).send('No certificate is being ordered with this token.\n')
  })
}
