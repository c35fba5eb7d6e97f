import { setTimeout as sleep } from 'node:timers/promises'
import type { SecureContext } from 'node:tls'
import type { Config } from '../../base/config.ts'
import { wake } from '../../base/wake.ts'
import type { Services } from '../../operations/context.ts'
import { findListBySubdomain } from '../lists/index.ts'
import type { CertificateRow } from './certificate.ts'
import { countYoungBelow, insertWanted } from './certificate-queries.ts'
import { mainHost } from './own-hosts.ts'
import type { ServedCertificates } from './served-certificates.ts'

/** Let's Encrypt gives 50 new certificates a week to one registered domain; the rest is for the operator's own hosts. */
const mostAWeek = 40
const weekMs = 7 * 24 * 60 * 60_000
/** A handshake may wait for its certificate as long as this, within the time that it has; and so many may. */
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
  const { database, config, clock } = services
  let waiting = 0

  const isOrdered = async (host: string, subdomain: string): Promise<boolean> => {
    const list = await findListBySubdomain(database, subdomain)
    if (!list) return false
    return database.transaction(async (tx) => {
      const suffix = host.slice(subdomain.length)
      if ((await countYoungBelow(tx, { suffix, since: new Date(clock.now().getTime() - weekMs) })) >= mostAWeek) return false
      await insertWanted(tx, { project_id: list.project_id, host, target: null, challenges: ['http-01'] })
      tx.afterCommit(() => wake('certificates', host))
      return true
    })
  }

  return {
    /** Null when there is no such site, or its certificate takes longer. */
    async contextOf(name: string): Promise<SecureContext | null> {
      const host = name.toLowerCase().replace(/\.$/, '')
      const subdomain = subdomainIn(host, config)
      if (subdomain === null || waiting >= mostWaiting) return null
      waiting++
      try {
        if (!(await isOrdered(host, subdomain))) return null
        for (const began = performance.now(); performance.now() - began < patienceMs; ) {
          await sleep(lookEveryMs)
          const context = await certificates.contextOf(host)
          if (context) return context
        }
        return null
      } finally {
        waiting--
      }
    },
  }
}
