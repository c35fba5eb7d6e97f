import { reasonOf } from '../../base/errors.ts'
import type { Services } from '../../operations/context.ts'

const timeoutMs = 30_000
/** Payment tokens of agents are a preview of Stripe's. */
const apiVersion = '2026-07-29.preview'

export interface StripeRequest {
  method: 'GET' | 'POST' | 'DELETE'
  path: `/v1/${string}`
  /** Names as Stripe writes them: `items[0][price]`. */
  form?: Record<string, string>
  /** The same key is the same effect, however often it is sent. */
  idempotencyKey?: string
}

/** What Stripe said; or `unknown` when it cannot be told whether it did anything: it may be asked again under the same key. */
export type StripeAnswer =
  | { kind: 'done'; body: Record<string, unknown> }
  | { kind: 'refused'; status: number; code: string; message: string }
  | { kind: 'unknown'; reason: string }

export async function askStripe({ config, log }: Pick<Services, 'config' | 'log'>, request: StripeRequest): Promise<StripeAnswer> {
  const answer = await ask(config, request)
  // Neither the token nor anything else that was sent: who reads the log must not be able to pay with it.
  if (answer.kind === 'unknown') log.warn({ path: request.path, reason: answer.reason }, 'Stripe gave no usable answer')
  return answer
}

async function ask(config: Services['config'], { method, path, form, idempotencyKey }: StripeRequest): Promise<StripeAnswer> {
  try {
    const response = await fetch(config.STRIPE_API_URL + path, {
      method,
      headers: {
        authorization: `Bearer ${config.STRIPE_SECRET_KEY}`,
        'stripe-version': apiVersion,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    return read(response.status, (await response.json()) as Record<string, unknown>)
  } catch (error) {
    return { kind: 'unknown', reason: reasonOf(error) }
  }
}

/** Our own key being wrong, a key still in use, too many requests and Stripe's own failures say nothing about the card. */
const isUnclear = (status: number): boolean => [401, 403, 409, 429].includes(status) || status >= 500

function read(status: number, body: Record<string, unknown>): StripeAnswer {
  if (status < 300) return { kind: 'done', body }
  const { code, decline_code, message, type } = (body.error ?? {}) as Record<string, string | undefined>
  if (isUnclear(status)) return { kind: 'unknown', reason: `Stripe answered ${status} ${code ?? type ?? ''}`.trim() }
  return { kind: 'refused', status, code: decline_code ?? code ?? type ?? 'refused', message: message ?? 'Stripe refused it' }
}
