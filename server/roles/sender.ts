import { startMessageSender } from '../delivery/send-messages.ts'
import type { Services } from '../operations/context.ts'

/** Hands queued mail to the transport. */
export function startSenderRole({ database, clock, log, config, transport }: Services): () => Promise<unknown> {
  const loop = startMessageSender({ database, clock, log, transport, mailDomain: config.MAIL_DOMAIN })
  return loop.stop
}
