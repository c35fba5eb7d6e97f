import type { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isPublicAddress } from '../../base/public-address.ts'
import { resolveAddresses } from '../../base/resolve-addresses.ts'
import { privateAddress } from '../smtp/smtp-error.ts'

/**
 * Looks a host up with the given DNS servers and leaves out what is not on the open internet. It is the look-up of the connection
 * itself, so a name that changes in between gains nothing.
 */
export function createPublicLookup(resolver: Resolver, isPrivateAllowed: boolean): LookupFunction {
  return (host, options, callback) => {
    resolveAddresses(resolver, host).then(
      (found) => {
        const usable = isPrivateAllowed ? found : found.filter(({ address }) => isPublicAddress(address))
        const [first] = usable
        if (!first) return callback(coded(privateAddress, `${host} is not on the open internet`), '')
        if (options.all) return callback(null, usable)
        callback(null, first.address, first.family)
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    )
  }
}

const coded = (code: string, message: string): NodeJS.ErrnoException => Object.assign(new Error(message), { code })
