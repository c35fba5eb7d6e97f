import type { FastifyInstance } from 'fastify'
import { createAuthenticate } from '../features/tokens/index.ts'
import { startRateLimit } from '../http/rate-limit.ts'
import { addReference } from '../http/reference.ts'
import { createServer, type ReadyCheck } from '../http/server.ts'
import { allOperations } from '../operations/all-operations.ts'
import type { Services } from '../operations/context.ts'
import { addConfirmPages } from '../site/confirm.ts'
import { addHomePage } from '../site/home.ts'
import { addOutbox } from '../site/outbox.ts'

/** The API, the reference and the public pages on one port. */
export async function startHttpRole(services: Services, { isReady }: { isReady: ReadyCheck }): Promise<FastifyInstance> {
  const { database, clock, log, config } = services
  const rateLimit = startRateLimit({ database, clock, log, limit: config.RATE_LIMIT_PER_MINUTE })
  const app = createServer({
    services,
    operations: allOperations,
    authenticate: createAuthenticate({ database, clock, log }),
    rateLimit,
    isReady,
    pages: [
      addReference,
      (scope) => addHomePage(scope, services),
      (scope) => addConfirmPages(scope, services),
      (scope) => addOutbox(scope, services),
    ],
  })
  app.addHook('onClose', async () => rateLimit.stop())
  await app.listen({ port: config.PORT, host: config.HOST })
  return app
}
