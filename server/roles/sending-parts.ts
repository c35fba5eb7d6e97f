import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import type { Log } from '../base/log.ts'
import type { Secrets } from '../base/secrets.ts'
import type { Database } from '../database/database.ts'
import { storeCapturedMessage } from '../delivery/captured-messages.ts'
import { createSigners, type Signers } from '../delivery/signing-keys.ts'
import { createTransport, type Transport, watched } from '../delivery/transports/index.ts'

export interface SendingParts {
  transport: Transport
  signers: Signers
}

/** What mail leaves by, as the configuration says: once for the process, and once more for a sender in a thread of its own. */
export function createSendingParts(parts: { config: Config; database: Database; secrets: Secrets; clock: Clock; log: Log }): SendingParts {
  const { config, database, secrets, clock, log } = parts
  const transport = createTransport(config.OUTBOUND, {
    storeCapturedMessage: (message) => storeCapturedMessage(database, message, clock.now()),
    mailDomain: config.MAIL_DOMAIN,
    dnsServers: config.DNS_SERVERS,
    isPrivateAllowed: config.ALLOW_PRIVATE_WEBHOOKS,
  })
  return { transport: watched(transport, log), signers: createSigners({ database, secrets, clock }) }
}
