import { dataDirOf } from '../database/connect.ts'
import { createBreaker } from '../delivery/broadcast/breaker.ts'
import { DomainGate } from '../delivery/broadcast/domain-gate.ts'
import { startNode } from '../delivery/broadcast/node.ts'
import { createRenderer } from '../delivery/broadcast/render.ts'
import { startBroadcastSender } from '../delivery/broadcast/send-broadcasts.ts'
import { startMessageSender } from '../delivery/send-messages.ts'
import type { Services } from '../operations/context.ts'

/** Hands queued mail to the transport: single messages, and broadcasts. */
export async function startSenderRole(
  services: Omit<Services, 'jobs' | 'compiler' | 'reader' | 'blobs' | 'guardedFetch' | 'dns'>,
): Promise<() => Promise<unknown>> {
  const { database, clock, log, config, transport, secrets, signers } = services
  const leaseMs = config.LEASE_SECONDS * 1000
  const node = await startNode({ database, clock, log, dataDir: dataDirOf(config), leaseMs })
  const gate = new DomainGate(config.DOMAIN_LIMITS, transport)
  const messages = startMessageSender({ database, clock, log, transport, signers, secrets, gate, mailDomain: config.MAIL_DOMAIN, leaseMs })
  const breaker = createBreaker({ database, clock, log })
  const renderer = createRenderer({ database, secrets, signers, breaker, log })
  const broadcasts = startBroadcastSender({ database, clock, log, transport, node, renderer, breaker, gate, leaseMs })
  return () => Promise.all([messages.stop(), broadcasts.stop()])
}
