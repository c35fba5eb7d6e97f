import { createPrivateKey } from 'node:crypto'
import { AcmeProblem } from '../../acme/index.ts'
import { reasonOf } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { defineJob } from '../../jobs/jobs.ts'
import type { Services } from '../../operations/context.ts'
import { areCertificatesOurs, openAuthority } from './authority.ts'
import { findAccount, isAuthorizationWanted, type LeftOrder } from './certificate-queries.ts'

/** By the host, what the authority holds to be proved, or waits for. */
interface Left {
  host: string
  authorization: string
}

/**
 * RFC 8555 section 7.5.2. What was proved for a host that nobody has here any more would let our account have certificates for it for weeks, and what is
 * still to be proved would be handed to whoever orders next. Tried a few times: who orders later gives up what is left by themselves (place-order.ts).
 */
export const giveUpAuthorization = defineJob<Left>({
  name: 'certificates.give_up',
  retryLimit: 3,
  async run(services, left) {
    const { database, config, log, secrets } = services
    if (!areCertificatesOurs(config) || (await isAuthorizationWanted(database, left))) return
    const acme = openAuthority(services)
    try {
      const account = await findAccount(database, acme.directoryUrl)
      if (!account?.url) return
      const owner = { key: createPrivateKey(secrets.open('acme_account', account.directory, account.private_key)), url: account.url }
      const { status } = await acme.authorization(owner, left.authorization)
      if (status === 'valid' || status === 'pending') await acme.deactivate(owner, left.authorization)
    } catch (error) {
      if (!(error instanceof AcmeProblem) || error.isPassing) throw error
      // It is gone there, or that authority does not let go: asking again would change nothing.
      log.info({ host: left.host, reason: reasonOf(error) }, 'an authorisation could not be given up')
    } finally {
      acme.close()
    }
  },
})

/** With the transaction that forgets the certificate; the authority is told afterwards. */
export async function leaveOrders({ jobs }: Pick<Services, 'jobs'>, tx: Transaction, orders: LeftOrder[]): Promise<void> {
  for (const { host, ordered } of orders)
    if (ordered !== null) await jobs.enqueue(tx, giveUpAuthorization, { host, authorization: ordered.authorization })
}
