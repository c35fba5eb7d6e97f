import type { LookupAddress } from 'node:dns'
import type { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isPublicAddress } from '../../base/public-address.ts'
import { privateAddress } from '../smtp/smtp-error.ts'

/**
 * Looks a host up with the given DNS servers and leaves out what is not on the open internet. It is the look-up of the connection
 * itself, so a name that changes in between gains nothing.
 */
export function createPublicLookup(resolver: Resolver, isPrivateAllowed: boolean): LookupFunction {
  return (host, options, callback) => {
    addressesOf(resolver, host).then(
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

/** IPv4 first: receivers ask more of those who come by IPv6, such as a name for every address. Throws the worse of the two errors. */
export async function addressesOf(resolver: Resolver, host: string): Promise<LookupAddress[]> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = answers.flatMap((answer, index) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  )
  if (found.length > 0) return found
  const errors = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : []))
  throw errors.find(({ code }) => code !== 'ENOTFOUND' && code !== 'ENODATA') ?? errors[0] ?? coded('ENODATA', `${host} has no address`)
}

const coded = (code: string, message: string): NodeJS.ErrnoException => Object.assign(new Error(message), { code })
