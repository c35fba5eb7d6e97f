import type { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { reasonOf } from '../../base/errors.ts'
import { resolveAddresses } from '../../base/resolve-addresses.ts'

/** Where a domain takes mail. */
export type MailHosts =
  /** In the order in which they are tried. */
  | { kind: 'hosts'; hosts: string[] }
  /** RFC 7505: it says that it takes none. */
  | { kind: 'takes_none' }
  /** The DNS says that there is no such domain. */
  | { kind: 'no_domain' }
  /** No answer, or one that is of no use: another time there may be a better one. */
  | { kind: 'unknown'; detail: string }

/** RFC 5321 section 5.1: the MX records by preference, in random order within one; without any, the domain's own address. */
export async function findMailHosts(resolver: Resolver, domain: string): Promise<MailHosts> {
  try {
    return hostsOf(await resolver.resolveMx(domain))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOTFOUND') return { kind: 'no_domain' }
    if (code !== 'ENODATA') return { kind: 'unknown', detail: `MX ${domain}: ${reasonOf(error)}` }
  }
  try {
    await resolveAddresses(resolver, domain)
    return { kind: 'hosts', hosts: [domain] }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOTFOUND' ? { kind: 'no_domain' } : { kind: 'unknown', detail: `no MX; A and AAAA ${domain}: ${reasonOf(error)}` }
  }
}

function hostsOf(records: { priority: number; exchange: string }[]): MailHosts {
  const [only] = records
  if (records.length === 1 && (only?.exchange === '' || only?.exchange === '.')) return { kind: 'takes_none' }
  // An address in place of a name is against the rules, and would pass by the look-up that guards our network.
  const named = records.filter(({ exchange }) => exchange !== '' && exchange !== '.' && isIP(exchange.replace(/\.$/, '')) === 0)
  const drawn = named.map((record) => ({ ...record, lot: Math.random() }))
  const hosts = drawn
    .sort((a, b) => a.priority - b.priority || a.lot - b.lot)
    .map(({ exchange }) => exchange.replace(/\.$/, '').toLowerCase())
  if (hosts.length === 0) return { kind: 'unknown', detail: 'the MX records name no host' }
  return { kind: 'hosts', hosts: [...new Set(hosts)] }
}
