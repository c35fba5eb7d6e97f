import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Config } from '../../base/config.ts'
import { isPublicAddress } from '../../base/public-address.ts'
import { createTurns } from './turns.ts'

/** No document about an app is longer. */
export const maxDocumentBytes = 5 * 1024
const atOnce = 4
const lookUpMs = 1_000
const allInAllMs = 2_500
const rememberedMs = 60_000
const maxRemembered = 500

interface Document {
  bytes: Uint8Array<ArrayBuffer>
  headers: Record<string, string>
}
interface Outcome {
  document?: Document
  error?: Error
}

/**
 * How the OAuth server reads what clients publish about themselves. The address comes from a stranger, so nothing on this machine or
 * its network is asked, few are asked at once, and what came of it, good or bad, is remembered for a minute. Redirects are not followed.
 */
export function createMetadataFetch(
  { ALLOW_PRIVATE_WEBHOOKS, DNS_SERVERS }: Pick<Config, 'ALLOW_PRIVATE_WEBHOOKS' | 'DNS_SERVERS'>,
  isAllowed: (ip: string) => boolean = isPublicAddress,
) {
  const look = ALLOW_PRIVATE_WEBHOOKS ? async () => undefined : createLookUp(DNS_SERVERS, isAllowed)
  const turns = createTurns(atOnce)
  const known = new Map<string, Outcome & { until: number }>()

  const readInTurn = async (url: URL, headers: Headers, signal: AbortSignal): Promise<Outcome> => {
    const hasWaited = await turns.take(signal)
    let outcome: Outcome
    try {
      const lookup = await within(signal, look(url.hostname.replace(/^\[|\]$/g, '')))
      outcome = { document: await read(url, { headers, signal, lookup }) }
    } catch (error) {
      outcome = { error: error as Error }
    } finally {
      turns.leave()
    }
    if (known.size >= maxRemembered) known.clear()
    // One that came late to its turn may have failed for want of time, and that is not the app's fault.
    if (!hasWaited || outcome.document) known.set(url.href, { ...outcome, until: performance.now() + rememberedMs })
    return outcome
  }

  return async (address: string | URL | Request, options: RequestInit = {}): Promise<Response> => {
    const url = new URL(address instanceof Request ? address.url : address)
    const remembered = known.get(url.href)
    const { document, error } =
      remembered && remembered.until > performance.now()
        ? remembered
        : await readInTurn(url, new Headers(options.headers), options.signal ?? AbortSignal.timeout(allInAllMs))
    if (!document) throw error
    return new Response(document.bytes, { headers: document.headers })
  }
}

/**
 * Names are looked up here and once: the connection goes to the very addresses that were checked, so a name that changes in between
 * changes nothing. Not with the system's own look-up, which has no time limit and of which only four can run in a process.
 */
function createLookUp(servers: string[], isAllowed: (ip: string) => boolean): (hostname: string) => Promise<LookupFunction> {
  const resolver = new Resolver({ timeout: lookUpMs, tries: 1 })
  if (servers.length > 0) resolver.setServers(servers)
  const addressesOf = async (hostname: string): Promise<string[]> => {
    if (isIP(hostname)) return [hostname]
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }
  return async (hostname) => {
    const addresses = await addressesOf(hostname)
    if (addresses.length === 0) throw new Error(`${hostname} has no address`)
    if (!addresses.every(isAllowed)) throw new Error(`${hostname} is not on the open internet`)
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const [first] = found as [LookupAddress]
    return (_hostname, { all }, callback) => (all ? callback(null, found) : callback(null, first.address, first.family))
  }
}

interface Reading {
  headers: Headers
  signal: AbortSignal
  lookup: LookupFunction | undefined
}

async function read(url: URL, { headers, signal, lookup }: Reading): Promise<Document> {
  const asking = request(url, {
    agent: false,
    headers: { ...Object.fromEntries(headers), 'accept-encoding': 'identity' },
    signal,
    ...(lookup ? { lookup } : {}),
  })
  // What fails before the answer is thrown by the wait for it, and what fails after it by reading it.
  asking.on('error', () => {}).end()
  try {
    const [answer] = (await once(asking, 'response')) as [IncomingMessage]
    if (answer.statusCode !== 200) throw new Error(`${url.host} answered ${answer.statusCode}`)
    const chunks: Buffer[] = []
    let length = 0
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxDocumentBytes) throw new Error(`what ${url.host} publishes is longer than ${maxDocumentBytes} bytes`)
      chunks.push(chunk)
    }
    const { 'cache-control': control, expires } = answer.headers
    return {
      bytes: new Uint8Array(Buffer.concat(chunks)),
      headers: { ...(control ? { 'cache-control': control } : {}), ...(expires ? { expires } : {}) },
    }
  } finally {
    asking.destroy()
  }
}

/** The outcome, or the signal's reason as soon as that is over. */
async function within<Value>(signal: AbortSignal, outcome: Promise<Value>): Promise<Value> {
  signal.throwIfAborted()
  const { promise: over, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([outcome, over])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
