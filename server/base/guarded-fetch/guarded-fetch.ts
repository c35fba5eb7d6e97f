import type { IncomingHttpHeaders } from 'node:http'
import { isPublicAddress } from '../public-address.ts'
import { createConnections } from './connections.ts'
import { type Exchange, exchange, isStale } from './exchange.ts'
import { FetchFailed, FetchRefused, failureOf } from './fetch-error.ts'
import { createLookUp } from './look-up.ts'
import { type AddressRules, hostOf, readPublicUrl } from './public-url.ts'

export interface GuardSettings {
  /** As in DNS_SERVERS; none are the system's. */
  dnsServers: string[]
  ports: readonly number[]
  isPrivateAllowed: boolean
  /** Which addresses count as public: those of the open internet. */
  isPublic?: (ip: string) => boolean
  /** How long a connection is taken up again: a name that has moved is looked up after that. */
  keptMs?: number
}

export interface FetchRequest {
  method?: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string | Buffer
  /** For everything together: look-up, connection, TLS, headers and body. */
  timeoutMs?: number
  /** What is read of the answer's body. */
  maxBytes?: number
  /** Nothing more will be asked of this host soon: the connection is not kept, and the name is looked up. */
  isOnce?: boolean
  /** Ends it early; its reason is thrown. */
  signal?: AbortSignal
}

export interface FetchAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** As it came: nothing is unpacked. */
  body: Buffer
  /** There was more of the body. */
  truncated: boolean
  durationMs: number
}

export interface GuardedFetch {
  /** Throws FetchRefused or FetchFailed, whose messages are for whoever gave the address. A redirect is an answer like others. */
  (url: string, request?: FetchRequest): Promise<FetchAnswer>
  /** Why an address could not be fetched, by its form or by where its name leads now; null when nothing stands in the way. */
  problemOf(url: string): Promise<string | null>
  close(): void
}

const defaultTimeoutMs = 10_000
const defaultMaxBytes = 64 * 1024

/**
 * Fetches what strangers name, and nothing on this machine or its network for them: https only, few ports, no redirects, no proxy,
 * limits of time and size. The addresses that a name leads to are checked by the look-up of the connection itself, all of
 * them, so that a name that changes in between gains nothing.
 */
export function createGuardedFetch({
  dnsServers,
  ports,
  isPrivateAllowed,
  isPublic = isPublicAddress,
  keptMs = 60_000,
}: GuardSettings): GuardedFetch {
  const rules: AddressRules = { ports, isPrivateAllowed, isPublic }
  const lookUp = createLookUp(dnsServers, rules)
  const connections = createConnections(lookUp.addressesOf, rules, keptMs)

  const ask = async (url: URL, order: Omit<Exchange, 'agent'>, isOnce: boolean) => {
    const { kept, single } = connections.for(url)
    if (isOnce) return exchange(url, { ...order, agent: single })
    try {
      return await exchange(url, { ...order, agent: kept })
    } catch (error) {
      // RFC 9112 section 9.3.1: a server may close a connection that was kept just when it is used again.
      if (!isStale(error)) throw error
      return exchange(url, { ...order, agent: single })
    }
  }

  const guardedFetch = async (text: string, request: FetchRequest = {}): Promise<FetchAnswer> => {
    const { method = 'GET', headers = {}, body, timeoutMs = defaultTimeoutMs, maxBytes = defaultMaxBytes, isOnce = false, signal } = request
    const url = readPublicUrl(text, rules)
    const began = performance.now()
    const ending = endAfter(timeoutMs, hostOf(url), signal)
    try {
      const answer = await ask(url, { method, headers, body, maxBytes, signal: ending.signal }, isOnce)
      return { ...answer, durationMs: Math.round(performance.now() - began) }
    } catch (error) {
      throw ending.signal.aborted ? ending.signal.reason : failureOf(hostOf(url), error)
    } finally {
      ending.clear()
    }
  }

  const problemOf = async (text: string): Promise<string | null> => {
    try {
      await lookUp.addressesOf(hostOf(readPublicUrl(text, rules)))
      return null
    } catch (error) {
      if (error instanceof FetchRefused || error instanceof FetchFailed) return error.message
      throw error
    }
  }

  return Object.assign(guardedFetch, {
    problemOf,
    close: () => {
      connections.close()
      lookUp.close()
    },
  })
}

/** One end for the whole exchange: its time is over, or nobody wants it any more. */
function endAfter(timeoutMs: number, host: string, given?: AbortSignal): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const tooLong = () => controller.abort(new FetchFailed('timeout', `${host} took longer than ${timeoutMs / 1000} s`))
  const timer = setTimeout(tooLong, timeoutMs)
  const giveUp = () => controller.abort(given?.reason)
  given?.addEventListener('abort', giveUp, { once: true })
  if (given?.aborted) giveUp()
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer)
      given?.removeEventListener('abort', giveUp)
    },
  }
}
