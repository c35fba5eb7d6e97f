import { randomBytes } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import type { Config } from '../../base/config.ts'
import { type Answer, isFound, isTrouble, type LookUps, shown } from '../../dns/index.ts'

/** What DNS has of the name that the domains of all sites point at. */
export interface SiteTarget {
  state: 'good' | 'wrong' | 'unknown'
  seen: string
  /** What the operator has to do; null when nothing is. */
  next: string | null
}

type Settings = Pick<Config, 'SITE_TARGET'>

/** The operator's own part of every site's records: each list has a name of its own below the target, and owners' records look right whatever is there. */
export async function lookAtSiteTarget(
  lookUps: Pick<LookUps, 'addresses'>,
  { SITE_TARGET }: Settings,
  own: string[] = ownAddresses(),
): Promise<SiteTarget> {
  // A name that nobody has added by itself: what answers for it answers for every list.
  const below = `doctor-${randomBytes(6).toString('hex')}.${SITE_TARGET}`
  const [itself, any] = await Promise.all([lookUps.addresses(SITE_TARGET), lookUps.addresses(below)])
  for (const answer of [itself, any])
    if (isTrouble(answer)) return { state: 'unknown', seen: `nobody can say where ${SITE_TARGET} leads: ${answer.trouble}`, next: null }
  const addresses = foundIn(itself)
  if (addresses.length === 0)
    return {
      state: 'wrong',
      seen: `${SITE_TARGET} has no address`,
      next: `Add A (and AAAA) ${SITE_TARGET} with the address of this server, and CNAME *.${SITE_TARGET} to ${SITE_TARGET}: the domains of sites lead nowhere without them.`,
    }
  const every = foundIn(any)
  if (every.length === 0)
    return {
      state: 'wrong',
      seen: `${SITE_TARGET} has an address, names below it have none`,
      next: `Add CNAME *.${SITE_TARGET} to ${SITE_TARGET}: the domain of each site points at a name of its own there.`,
    }
  const stray = every.find((address) => !addresses.includes(address))
  if (stray !== undefined)
    return {
      state: 'wrong',
      seen: `${SITE_TARGET} leads to ${shown(addresses[0] as string)}, and names below it to ${shown(stray)}`,
      next: `Have CNAME *.${SITE_TARGET} point at ${SITE_TARGET}, so that both lead to the same place.`,
    }
  return { state: 'good', seen: `${SITE_TARGET} and names below it lead to ${whereTo(addresses, own)}`, next: null }
}

const foundIn = (answer: Answer): string[] => (isFound(answer) ? answer.found : [])

/** Behind a proxy or a router the world's address is another one than this machine's: that is no fault, and good to know. */
const whereTo = (addresses: string[], own: string[]): string =>
  addresses.some((address) => own.includes(address))
    ? `this machine (${addresses.join(', ')})`
    : `${addresses.join(', ')}, which is not this machine: right if a proxy or a router passes it on`

const ownAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address }) => address)
