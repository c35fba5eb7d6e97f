import { createSecureContext, type SecureContext } from 'node:tls'
import { reasonOf } from '../../base/errors.ts'
import { onWake } from '../../base/wake.ts'
import type { Services } from '../../operations/context.ts'
import { findServed } from './certificate-queries.ts'

/** The certificates that handshakes are answered with. */
export interface ServedCertificates {
  /** Null for a host without a certificate. */
  contextOf(host: string): Promise<SecureContext | null>
  stop(): void
}

/** For so long another process's newer one, or its removal, may go unnoticed here. */
const trustedForMs = 20_000
const trustedAfterTroubleMs = 1_000
/** Shorter: the first thing that an owner does with a new certificate is to look. */
const unknownForMs = 2_000
/** Of hosts that have one, and of names that a scanner makes up: these push none of those out. */
const mostKept = 2_000
const mostUnknown = 10_000

interface Served {
  context: SecureContext
  issuedAtMs: number
}

interface Kept {
  served: Promise<Served | null>
  until: number
}

export function createServedCertificates({ database, secrets, log }: Pick<Services, 'database' | 'secrets' | 'log'>): ServedCertificates {
  const kept = new Map<string, Kept>()
  const unknown = new Map<string, number>()

  const look = async (host: string, before: Served | null): Promise<Served | null> => {
    const row = await findServed(database, host)
    if (!row) return null
    const issuedAtMs = row.issued_at.getTime()
    if (before?.issuedAtMs === issuedAtMs) return before
    const key = secrets.open('certificate', host, row.private_key)
    return { context: createSecureContext({ key, cert: row.chain, minVersion: 'TLSv1.2' }), issuedAtMs }
  }

  const lookAgain = (host: string, before: Kept | undefined): Promise<Served | null> => {
    const entry: Kept = { served: Promise.resolve(null), until: performance.now() + trustedForMs }
    entry.served = (async () => {
      const last = before ? await before.served : null
      try {
        return await look(host, last)
      } catch (error) {
        // What was good a moment ago is better than nothing.
        log.warn({ host, reason: reasonOf(error) }, 'a certificate could not be looked up')
        entry.until = performance.now() + trustedAfterTroubleMs
        return last
      }
    })()
    // Once it is asked for again it is young again: the oldest go first.
    kept.delete(host)
    kept.set(host, entry)
    const [oldest] = kept.keys()
    if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
    return entry.served
  }

  const expire = (host?: string) => {
    const known = kept.get(host ?? '')
    if (known) known.until = 0
    unknown.delete(host ?? '')
  }
  return {
    stop: onWake('certificates', expire),
    async contextOf(name) {
      const host = name.toLowerCase().replace(/\.$/, '')
      if ((unknown.get(host) ?? 0) > performance.now()) return null
      const known = kept.get(host)
      const served = await (known && known.until > performance.now() ? known.served : lookAgain(host, known))
      if (served) return served.context
      kept.delete(host)
      if (unknown.size >= mostUnknown) unknown.clear()
      unknown.set(host, performance.now() + unknownForMs)
      return null
    },
  }
}
