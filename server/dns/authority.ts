import { isPublicAddress } from '../base/public-address.ts'
import type { NameServer } from './exchange.ts'
import { isFound, type LookUps } from './look-ups.ts'

interface Needs {
  recursive: LookUps
  isPrivateAllowed: boolean
  /** Where name servers of this machine or network are asked, in development; those of the open internet have port 53. */
  privatePort: number
}

/** A zone has two to four servers as a rule; more than this are not asked. */
const mostHosts = 3
const mostServers = 4

/** Finds the servers of the zone that a name is in, by its nearest ancestor with NS records. Null when they cannot be found or asked. */
export function createZoneFinder({ recursive, isPrivateAllowed, privatePort }: Needs): (name: string) => Promise<NameServer[] | null> {
  const known = new Map<string, Promise<NameServer[] | null>>()

  const ownServersOf = async (zone: string): Promise<NameServer[] | 'none' | null> => {
    const hosts = await recursive.ns(zone)
    if (!isFound(hosts)) return 'missing' in hosts ? 'none' : null
    // A zone is at the name itself, not where an alias leads.
    if (hosts.aliases.length > 0) return 'none'
    const answers = await Promise.all(hosts.found.slice(0, mostHosts).map((host) => recursive.addresses(host)))
    const addresses = answers.flatMap((answer) => (isFound(answer) ? answer.found.slice(0, 2) : []))
    // Whoever owns a domain says where its name servers are: not inside this network.
    const allowed = addresses.filter((address) => isPrivateAllowed || isPublicAddress(address)).slice(0, mostServers)
    return allowed.length === 0 ? null : allowed.map((address) => ({ address, port: isPublicAddress(address) ? 53 : privatePort }))
  }

  const find = async (name: string): Promise<NameServer[] | null> => {
    // Top-level domains are nobody's here: above the last two parts nothing is asked.
    if (!name.includes('.')) return null
    const own = await ownServersOf(name)
    return own === 'none' ? serversOf(name.slice(name.indexOf('.') + 1)) : own
  }

  const serversOf = (name: string): Promise<NameServer[] | null> => {
    const remembered = known.get(name) ?? find(name)
    known.set(name, remembered)
    return remembered
  }
  return serversOf
}
