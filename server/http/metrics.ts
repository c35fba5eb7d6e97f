import { timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { hashOfSecret } from '../base/secrets.ts'
import { dataDirOf } from '../database/connect.ts'
import { countRequest } from '../metrics/counters.ts'
import { startMetrics } from '../metrics/metrics.ts'
import { contentType, toText } from '../metrics/text-format.ts'
import { bearerOf } from './credentials.ts'
import type { HttpParts } from './routes.ts'

/** Numbers for whoever watches this process. Without METRICS_TOKEN there is nothing here. */
export function addMetrics(app: FastifyInstance, { services, trouble }: Pick<HttpParts, 'services'> & { trouble(): string | null }): void {
  const { database, clock, config } = services
  if (config.METRICS_TOKEN === null) return
  const expected = hashOfSecret(config.METRICS_TOKEN)
  const metrics = startMetrics({ database, clock, dataDir: dataDirOf(config), trouble })
  app.addHook('onClose', async () => metrics.stop())
  app.addHook('onResponse', (_request, reply, done) => {
    countRequest(reply.statusCode)
    done()
  })
  app.get('/metrics', async ({ headers }, reply) => {
    // Hashes are of one length, and equal in no part by a good guess.
    if (!timingSafeEqual(hashOfSecret(bearerOf(headers.authorization) ?? ''), expected))
      throw new ApiError('unauthorized', 'METRICS_TOKEN is needed here. Send it as "Authorization: Bearer …".', {
        headers: { 'www-authenticate': 'Bearer' },
      })
    return reply
      .type(contentType)
      .header('cache-control', 'no-store')
      .send(toText(await metrics.read()))
  })
}
