import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Acme, AcmeAccount } from '../../acme/index.ts'
import { reasonOf } from '../../base/errors.ts'
import { type Loop, startLoop } from '../../base/loop.ts'
import { wake } from '../../base/wake.ts'
import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { ensureAccount } from './account.ts'
import { afterError, afterRunOut, isRunOut } from './after-trouble.ts'
import { areCertificatesOurs, openAuthority } from './authority.ts'
import type { CertificateRow } from './certificate.ts'
import {
  claimDue,
  deleteCertificate,
  deleteChallenges,
  findProgress,
  insertChallenge,
  releaseTurn,
  saveTurn,
} from './certificate-queries.ts'
import { leaveOrders } from './give-up.ts'
import { keepOwnHosts } from './own-hosts.ts'
import { type Change, steps } from './steps.ts'
import { warnOfExpiry } from './warn-of-expiry.ts'

const lookEveryMs = 1_000
/** So many orders are worked at by one process. One whose name servers are slow holds up no other. */
const places = 32
/** Longer than a step can take: two questions and what DNS needs. */
const leaseSeconds = 180

/** Orders certificates and renews them, a step at a time. Null when a proxy does TLS. */
export function startCertificates(services: Services): Loop | null {
  const { config, log } = services
  if (!areCertificatesOurs(config)) return null
  const tending = createTending(services, openAuthority(services))
  let hasOwnHosts = false
  const loop = startLoop({
    name: 'certificates',
    log,
    on: 'certificates',
    everyMs: lookEveryMs,
    async step() {
      if (!hasOwnHosts) await keepOwnHosts(services)
      hasOwnHosts = true
      return tending.step()
    },
  })
  return {
    async stop() {
      tending.leave()
      await loop.stop()
      await tending.settled()
    },
  }
}

export interface Tending {
  /** Begins a step of each order that is due, as far as there are places, and waits for the first that ends. True when there were any. */
  step(): Promise<boolean>
  /** Resolves when nothing is under way. */
  settled(): Promise<unknown>
  /** Breaks off what is under way; whoever comes next takes it up. */
  leave(): void
}

export function createTending(services: Services, acme: Acme): Tending {
  const { database, clock, log } = services
  const owner = randomUUID()
  const underWay = new Set<Promise<void>>()
  let isLeaving = false
  let asking: Promise<AcmeAccount> | null = null
  /** Orders that begin together ask for the account once. */
  const account = (): Promise<AcmeAccount> => {
    asking ??= ensureAccount(services, acme).finally(() => {
      asking = null
    })
    return asking
  }
  const begin = (row: CertificateRow) => {
    const turn = takeTurn(services, { acme, account, row, owner, isLeaving: () => isLeaving })
      .catch((error: unknown) => log.warn({ host: row.host, reason: reasonOf(error) }, 'a step of an order is taken again later'))
      .finally(() => underWay.delete(turn))
    underWay.add(turn)
  }
  return {
    async step() {
      const limit = isLeaving ? 0 : places - underWay.size
      const claimed = limit > 0 ? await claimDue(database, { now: clock.now(), owner, leaseSeconds, limit }) : []
      for (const row of claimed) begin(row)
      if (underWay.size === 0) return false
      await Promise.race([...underWay, sleep(lookEveryMs, undefined, { ref: false })])
      return true
    },
    settled: () => Promise.all(underWay),
    leave() {
      isLeaving = true
      acme.close()
    },
  }
}

interface Leased {
  acme: Acme
  account(): Promise<AcmeAccount>
  row: CertificateRow
  owner: string
  isLeaving(): boolean
}

async function takeTurn(services: Services, { acme, account, row, owner, isLeaving }: Leased): Promise<void> {
  const { database, clock } = services
  const now = clock.now()
  const take = async () => (isRunOut(row, now) ? afterRunOut(row, now) : steps[row.step]({ services, acme, account, row, now }))
  const change = await take().catch((error: unknown) => (isLeaving() ? null : afterError(services, { acme, row, error, now })))
  if (change === null) return void (await releaseTurn(database, row.host, owner))
  await settle(services, { row, change, owner }).catch(async (error: unknown) => {
    // The step was taken and could not be written down: it is not taken again each time the lease is over, but later and later.
    const later = await afterError(services, { acme, row, error, now })
    await settle(services, { row, change: { ...later, begun_at: change.begun_at ?? row.begun_at }, owner })
  })
}

interface Taken {
  row: CertificateRow
  change: Change
  owner: string
}

async function settle(services: Services, { row, change, owner }: Taken): Promise<void> {
  const { challenge, isUnwanted, ...changed } = change
  const after: CertificateRow = { ...row, ...changed }
  await services.database.transaction(async (tx) => {
    if (isUnwanted) return leaveOrders(services, tx, await deleteCertificate(tx, row))
    const warnings = await warnOfExpiry(services, tx, after)
    if (!(await saveTurn(tx, { ...after, warnings }, owner))) return leaveLost(services, tx, after)
    if (challenge) await insertChallenge(tx, { ...challenge, host: row.host })
    else if (!['proving', 'checking'].includes(after.step)) await deleteChallenges(tx, row.host)
    if (after.issued_at === row.issued_at) return
    services.log.info({ host: row.host, not_after: after.not_after }, 'a certificate was issued')
    tx.afterCommit(() => wake('certificates', row.host))
  })
}

/** Somebody had the certificate forgotten during the step, and could not know of what that was ordering. */
async function leaveLost(services: Services, tx: Transaction, { host, ordered }: CertificateRow): Promise<void> {
  if (!(await findProgress(tx, host))) await leaveOrders(services, tx, [{ host, ordered }])
}
