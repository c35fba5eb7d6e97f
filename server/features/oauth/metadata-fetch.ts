import type { FetchAnswer, GuardedFetch } from '../../base/guarded-fetch/index.ts'
import { createTurns } from './turns.ts'

/** No document about an app is longer. */
export const maxDocumentBytes = 5 * 1024
const atOnce = 4
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
 * How the OAuth server reads what clients publish about themselves. The address comes from a stranger: it is fetched behind the guard, few
 * are asked at once, and what came of it, good or bad, is remembered for a minute. Redirects are not followed.
 */
export function createMetadataFetch(guardedFetch: GuardedFetch) {
  const turns = createTurns(atOnce)
  const known = new Map<string, Outcome & { until: number }>()

  const readInTurn = async (url: URL, headers: Headers, signal: AbortSignal): Promise<Outcome> => {
    const hasWaited = await turns.take(signal)
    let outcome: Outcome
    try {
      const given = { headers: Object.fromEntries(headers), signal, maxBytes: maxDocumentBytes, isOnce: true }
      outcome = { document: documentOf(url, await guardedFetch(url.href, given)) }
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

function documentOf({ host }: URL, { status, headers, body, truncated }: FetchAnswer): Document {
  if (status !== 200) throw new Error(`${host} answered ${status}`)
  if (truncated) throw new Error(`what ${host} publishes is longer than ${maxDocumentBytes} bytes`)
  const { 'cache-control': control, expires } = headers
  return {
    bytes: new Uint8Array(body),
    headers: { ...(control ? { 'cache-control': control } : {}), ...(expires ? { expires } : {}) },
  }
}
