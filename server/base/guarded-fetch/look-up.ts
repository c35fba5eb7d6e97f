import { type LookupAddress, lookup } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { resolveAddresses } from '../resolve-addresses.ts'
import { FetchRefused, lookUpFailureOf } from './fetch-error.ts'
import { type AddressRules, notPublic } from './public-url.ts'

const answerMs = 1_500
const tries = 2

/** Every address of a host, all of them checked. Throws FetchRefused or FetchFailed. */
export type AddressesOf = (host: string) => Promise<LookupAddress[]>

export interface LookUp {
  addressesOf: AddressesOf
  /** Ends what is being looked up. */
  close(): void
}

/**
 * Looks names up and refuses those that lead inside, if only with one of their addresses. Not with the system's own look-up: that has no
 * time limit, only four of them run in a process, where files and keys wait behind them, and it knows names of this network alone.
 */
export function createLookUp(servers: string[], { isPrivateAllowed, isPublic }: AddressRules): LookUp {
  const resolver = new Resolver({ timeout: answerMs, tries })
  if (servers.length > 0) resolver.setServers(servers)
  const isForSystem = (host: string) => isPrivateAllowed && (servers.length === 0 || /(^|\.)localhost$/.test(host))

  const find = async (host: string): Promise<LookupAddress[]> => {
    const family = isIP(host)
    if (family !== 0) return [{ address: host, family }]
    return isForSystem(host) ? systemLookup(host, { all: true }) : resolveAddresses(resolver, host)
  }

  const addressesOf: AddressesOf = async (host) => {
    const found = await find(host).catch((error: unknown) => {
      throw lookUpFailureOf(host, error)
    })
    const inside = isPrivateAllowed ? undefined : found.find(({ address }) => !isPublic(address))
    if (inside) throw new FetchRefused(notPublic(host, inside.address))
    return found
  }
  return { addressesOf, close: () => resolver.cancel() }
}

/** For development alone: names of this machine, such as those of /etc/hosts. */
const systemLookup = promisify(lookup)

/** The look-up that a connection makes by itself: it dials what was checked, and nothing else. */
export const asConnectionLookup =
  (addressesOf: AddressesOf): LookupFunction =>
  (host, { all }, callback) => {
    addressesOf(host).then(
      (found) => {
        const [first] = found as [LookupAddress]
        if (all) callback(null, found)
        else callback(null, first.address, first.family)
      },
      (error: Error) => callback(error, ''),
    )
  }
