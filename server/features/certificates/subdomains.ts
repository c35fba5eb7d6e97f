import { setTimeout as sleep } from 'node:timers/promises'
import type { SecureContext } from 'node:tls'
import type { Config } from '../../base/config.ts'
import { wake } from '../../base/wake.ts'
import type { Queryable } from '../../database/database.ts'
import { holdName } from '../../database/hold-name.ts'
import type { Services } from '../../operations/context.ts'
import { findListBySubdomain } from '../lists/index.ts'
import type { CertificateRow } from './certificate.ts'
import { deleteSubdomainOrders, findProgress, findShare, insertSubdomainOrder, insertWanted, type Progress } from './certificate-queries.ts'
import { mainHost } from './own-hosts.ts'
import type { ServedCertificates } from './served-certificates.ts'

/** Let's Encrypt gives 50 new certificates a week to one registered domain; the rest is for the operator's own hosts. */
const mostAWeek = 40
/** Anybody may make lists: so many are for one person, whoever runs the installation apart. */
const mostOfOneAWeek = 5
const weekMs = 7 * 24 * 60 * 60_000
/** A handshake may wait for its certificate as long as this, within the time that it has; and so many hosts may be waited for. */
const patienceMs = 8_000
const mostWaiting = 50
const lookEveryMs = 250

/** `weekly` for weekly.example.com, where example.com is ours and served over TLS. Null for anything else. */
export function subdomainIn(host: string, config: Pick<Config, 'PUBLIC_URL'>): string | null {
  const main = mainHost(config)
  if (main === null || !host.endsWith(`.${main}`)) return null
  const label = host.slice(0, -main.length - 1)
  return /^[a-z\d-]{1,63}$/.test(label) ? label : null
}

/** Whether the host is that of a list which is gone: then nobody comes there any more. */
export async function isDeserted(
  { database, config }: Pick<Services, 'database' | 'config'>,
  { host, project_id }: CertificateRow,
): Promise<boolean> {
  const subdomain = project_id === null ? null : subdomainIn(host, config)
  return subdomain !== null && (await findListBySubdomain(database, subdomain)) === null
}

/**
 * The sites of lists are below our own host, and a certificate for all names there can only be had by a DNS record that somebody changes
 * for each renewal. So each site gets its own when the first visitor comes, who waits the few seconds that it takes.
 */
export function createSubdomainCertificates(services: Services, certificates: ServedCertificates) {
  const { database, clock } = services
  const underWay = new Map<string, Promise<SecureContext | null>>()
  let waiting = 0

  const isHopeful = ({ is_issued, failures, due_at }: Progress): boolean =>
    is_issued || (failures === 0 && due_at.getTime() - clock.now().getTime() <= patienceMs)

  const wait = async (host: string): Promise<SecureContext | null> => {
    for (const began = performance.now(); performance.now() - began < patienceMs; ) {
      const progress = await findProgress(database, host)
      // What waits for DNS, or failed, has no chance within a handshake: nobody is kept for it.
      if (!progress || !isHopeful(progress)) return null
      await sleep(lookEveryMs)
      const context = await certificates.contextOf(host)
      if (context) return context
    }
    return null
  }

  /** The order comes before the place to wait in: who finds none has the certificate the next time. */
  const orderAndWait = async (host: string, subdomain: string): Promise<SecureContext | null> => {
    if (!(await findProgress(database, host)) && !(await isOrdered(services, host, subdomain))) return null
    if (waiting >= mostWaiting) return null
    waiting++
    return wait(host).finally(() => {
      waiting--
    })
  }

  return {
    /** Null when there is no such site, or its certificate takes longer. Those who come for the same host wait together. */
    contextOf(name: string): Promise<SecureContext | null> {
      const host = name.toLowerCase().replace(/\.$/, '')
      const subdomain = subdomainIn(host, services.config)
      if (subdomain === null) return Promise.resolve(null)
      const known = underWay.get(host) ?? orderAndWait(host, subdomain).finally(() => underWay.delete(host))
      underWay.set(host, known)
      return known
    },
  }
}

async function isOrdered({ database, clock }: Services, host: string, subdomain: string): Promise<boolean> {
  const list = await findListBySubdomain(database, subdomain)
  if (!list) return false
  const since = new Date(clock.now().getTime() - weekMs)
  const shareOf = async (db: Queryable) => {
    const share = await findShare(db, { project_id: list.project_id, since })
    const isLeft = share && share.ordered_by_all < mostAWeek && (share.is_operator || share.ordered < mostOfOneAWeek)
    return isLeft ? share : null
  }
  // Asked twice: whoever has no share left does not hold up those who have.
  if (!(await shareOf(database))) return false
  return database.transaction(async (tx) => {
    await holdName(tx, 'subdomain certificates')
    const share = await shareOf(tx)
    if (!share) return false
    await deleteSubdomainOrders(tx, { before: since })
    const isNew = await insertWanted(tx, { project_id: list.project_id, host, target: null, challenges: ['http-01'] })
    if (isNew) await insertSubdomainOrder(tx, { host, person_id: share.person_id })
    tx.afterCommit(() => wake('certificates', host))
    return true
  })
}
