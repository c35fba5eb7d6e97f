import type { WebhookId } from '../../../base/ids.ts'
import { type Loop, startLoop } from '../../../base/loop.ts'
import { onWake } from '../../../base/wake.ts'
import type { Consumer } from '../../../events/consume.ts'
import type { Services } from '../../../operations/context.ts'
import { anAnswer, Dispatcher } from './dispatcher.ts'
import { createDeliveryFiler } from './file-deliveries.ts'
import { MassFiler } from './file-masses.ts'
import { MassPace } from './mass-pace.ts'

const pollMs = 500
/** Answers that come one after the other are followed up in one go. */
const pauseMs = 2
const longestLeaseMs = 30_000
const graceMs = 2_000
/** Between two pieces of a mass: whoever has the database busy with it leaves some to the others. */
const massPauseMs = 20

/** The halves of webhooks: what turns events into deliveries, and what sends these. */
export function createWebhooks(services: Services): { consumer: Consumer; start(): Loop } {
  const { log, config, database } = services
  const pace = new MassPace(config.ROLES.includes('sender'))
  return {
    consumer: createDeliveryFiler((count) => pace.hear(count)),
    start() {
      const leaseMs = Math.min(config.LEASE_SECONDS * 1_000, longestLeaseMs)
      const dispatcher = new Dispatcher(services, { leaseMs, pace })
      const offWake = onWake('webhooks', (about) => about !== anAnswer && dispatcher.rouse(about as WebhookId | undefined))
      const loop = startLoop({ name: 'webhooks', log, on: 'webhooks', everyMs: pollMs, pauseMs, step: () => dispatcher.step() })
      const masses = new MassFiler(database)
      const massLoop = startLoop({
        name: 'webhook masses',
        log,
        on: 'webhook-masses',
        everyMs: pollMs,
        pauseMs: massPauseMs,
        step: () => masses.step(),
      })
      return {
        async stop() {
          offWake()
          await Promise.all([loop.stop(), massLoop.stop()])
          await dispatcher.stop(graceMs)
        },
      }
    },
  }
}
