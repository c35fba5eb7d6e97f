import { lookup } from 'node:dns/promises'
import type { Config } from '../../base/config.ts'
import { isPublicAddress } from '../../base/public-address.ts'

/**
 * How the OAuth server reads what clients publish about themselves. The address comes from a stranger, so nothing on this machine or
 * its network is asked: the names are looked up here first, and the library's own dispatcher (in `options`) hangs up on a connection
 * that ended at such an address after all, as when a name changes in between. Redirects are not followed.
 */
export function createMetadataFetch({ ALLOW_PRIVATE_WEBHOOKS }: Pick<Config, 'ALLOW_PRIVATE_WEBHOOKS'>) {
  return async (url: string | URL | Request, options: RequestInit = {}): Promise<Response> => {
    const { hostname } = new URL(url instanceof Request ? url.url : url)
    if (ALLOW_PRIVATE_WEBHOOKS) {
      const { dispatcher: _guard, ...unguarded } = options as RequestInit & { dispatcher?: unknown }
      return fetch(url, { ...unguarded, redirect: 'manual' })
    }
    const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true })
    if (!addresses.every(({ address }) => isPublicAddress(address))) throw new Error(`${hostname} is not on the open internet`)
    return fetch(url, { ...options, redirect: 'manual' })
  }
}
