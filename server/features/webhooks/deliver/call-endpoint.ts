import { FetchFailed, FetchRefused } from '../../../base/guarded-fetch/index.ts'
import type { EventId, WebhookDeliveryId } from '../../../base/ids.ts'
import type { Services } from '../../../operations/context.ts'
import { headersOf, type SigningSecrets } from '../sign-delivery.ts'
import { maxSampleBytes, type WebhookDeliveryRow, type WebhookRow } from '../webhook.ts'

/** Where a webhook leads and what signs for it. */
export interface Endpoint extends Pick<WebhookRow, 'url'> {
  signing: SigningSecrets
}

export interface Call {
  delivery_id: WebhookDeliveryId
  event_id: EventId
  type: string
  body: string
}

/** What came of one attempt, as the log keeps it. */
export interface CallOutcome extends Pick<WebhookDeliveryRow, 'http_status' | 'error' | 'response_headers' | 'response_body'> {
  status: 'delivered' | 'failed'
  duration_ms: number
  attempted_at: Date
  /** How long the endpoint asks to be left alone (429 and 503), if it does. */
  retry_after_ms: number | null
}

const timeoutMs = 10_000
/** What helps whoever looks for a mistake, and nothing that could be a secret of theirs. */
const keptHeaders = ['content-type', 'date', 'location', 'retry-after', 'server', 'x-request-id']
const maxHeaderLetters = 500

/** One attempt, signed as of now. Only a 2xx status is a yes; redirects are not followed. Throws only what `signal` was aborted with. */
export async function callEndpoint(
  { guardedFetch, clock }: Pick<Services, 'guardedFetch' | 'clock'>,
  { url, signing }: Endpoint,
  { signal, ...call }: Call & { signal?: AbortSignal },
): Promise<CallOutcome> {
  const attempted_at = clock.now()
  const began = performance.now()
  const headers = headersOf({ signing, ...call, now: attempted_at })
  try {
    const order = { method: 'POST', headers, body: call.body, timeoutMs, maxBytes: maxSampleBytes } as const
    const { status, headers: all, body } = await guardedFetch(url, signal ? { ...order, signal } : order)
    const isDelivered = status >= 200 && status < 300
    return {
      status: isDelivered ? 'delivered' : 'failed',
      http_status: status,
      duration_ms: Math.round(performance.now() - began),
      error: isDelivered ? null : `answered with ${status}${hintOf(status)}`,
      response_headers: keptOf(all),
      // PostgreSQL keeps no NUL in a text.
      response_body: body.toString('utf8').replaceAll('\0', '\ufffd'),
      attempted_at,
      retry_after_ms: status === 429 || status === 503 ? retryAfterMs(all['retry-after'], attempted_at) : null,
    }
  } catch (error) {
    signal?.throwIfAborted()
    return {
      status: 'failed',
      http_status: null,
      duration_ms: Math.round(performance.now() - began),
      error: error instanceof FetchRefused || error instanceof FetchFailed ? error.message : 'could not be sent',
      response_headers: null,
      response_body: null,
      attempted_at,
      retry_after_ms: null,
    }
  }
}

const hintOf = (status: number): string =>
  status >= 300 && status < 400 ? '; redirects are not followed' : status === 410 ? ', which asks for no more' : ''

function keptOf(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of keptHeaders) {
    const value = headers[name]
    if (value !== undefined) kept[name] = String(value).replaceAll('\0', '').slice(0, maxHeaderLetters)
  }
  return kept
}

/** RFC 9110 section 10.2.3: seconds, or a date. What is neither counts as not said. */
export function retryAfterMs(value: string | string[] | undefined, now: Date): number | null {
  if (typeof value !== 'string') return null
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1_000
  const at = /^[A-Z][a-z]+, .+ GMT$/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime())
}
