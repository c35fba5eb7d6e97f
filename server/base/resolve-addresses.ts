import type { LookupAddress } from 'node:dns'
import type { Resolver } from 'node:dns/promises'

/** IPv4 first: receivers ask more of those who come by IPv6, such as a name for every address. Throws the worse of the two errors. */
export async function resolveAddresses(resolver: Resolver, host: string): Promise<LookupAddress[]> {
  const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const found = answers.flatMap((answer, index) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  )
  if (found.length > 0) return found
  const errors = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as NodeJS.ErrnoException] : []))
  const none = Object.assign(new Error(`${host} has no address`), { code: 'ENODATA' })
  throw errors.find(({ code }) => code !== 'ENOTFOUND' && code !== 'ENODATA') ?? errors[0] ?? none
}
