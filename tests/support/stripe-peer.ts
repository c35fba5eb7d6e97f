import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'

/**
 * What happens to the next request for a path, in place of success. `drop` does what was asked and loses the answer; `lose` loses the
 * question; `fail` is a 500 of the processor's own.
 */
export type Turn = 'decline' | 'decline and drop' | 'requires_action' | 'processing' | 'drop' | 'lose' | 'fail' | 'unauthorized'

export interface StripeRequest {
  method: string
  path: string
  form: Record<string, string>
  key: string | null
  headers: IncomingMessage['headers']
}

export interface StripePeer {
  url: string
  requests: StripeRequest[]
  /** Payments that went through, each once however often it was asked for. */
  charges: { id: string; amount: number; challenge: string }[]
  /** Subscriptions by id, for tests to change. */
  subscriptions: Map<string, Record<string, unknown>>
  /** Invoices by id, with what is on them. */
  invoices: Map<string, Invoice>
  /** For the requests to come whose path ends so, or is below it when it ends with a slash, in turn. */
  next(path: string, ...turns: Turn[]): void
}

export interface Invoice {
  id: string
  status: 'draft' | 'open' | 'paid' | 'uncollectible' | 'void'
  /** The card was tried. */
  attempted: boolean
  customer: string
  auto_advance: boolean
  metadata: Record<string, string>
  lines: { data: { amount: number; description: string }[] }
}

interface Stored {
  status: number
  body: object
  form: string
  at: number
}

/** How long an idempotency key is remembered. */
const keyLastsMs = 24 * 3_600_000

/** Behaves like Stripe as far as we speak to it: forms in, JSON out, and for a day the same idempotency key gets the same answer. */
export async function startStripePeer(clock: { now(): Date } = { now: () => new Date() }): Promise<StripePeer> {
  const [requests, charges]: [StripeRequest[], StripePeer['charges']] = [[], []]
  const subscriptions: StripePeer['subscriptions'] = new Map()
  const invoices: StripePeer['invoices'] = new Map()
  const payments = new Map<string, StripePeer['charges'][number]>()
  const turns: { path: string; turn: Turn }[] = []
  const known = new Map<string, Stored>()
  let number = 0

  const takeTurn = (path: string): Turn | null => {
    const index = turns.findIndex((one) => path.endsWith(one.path) || (one.path.endsWith('/') && path.startsWith(one.path)))
    return index < 0 ? null : (turns.splice(index, 1)[0]?.turn ?? null)
  }

  const act = ({ method, path, form }: StripeRequest, turn: Turn | null): Pick<Stored, 'status' | 'body'> => {
    const declined = { error: { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' } }
    if (turn?.startsWith('decline')) return { status: 402, body: declined }
    if (turn === 'fail') return { status: 500, body: { error: { type: 'api_error' } } }
    if (turn === 'unauthorized') return { status: 401, body: { error: { type: 'invalid_request_error' } } }
    const id = `${++number}`
    if (path.startsWith('/v1/payment_intents/')) return lookAtPayments(path, turn)
    if (path === '/v1/payment_intents') {
      const status = turn === 'requires_action' || turn === 'processing' ? turn : 'succeeded'
      const payment = { id: `pi_${id}`, amount: Number(form.amount), challenge: form['metadata[challenge_id]'] ?? '' }
      payments.set(payment.id, payment)
      if (status === 'succeeded') charges.push(payment)
      return { status: 200, body: { id: `pi_${id}`, status } }
    }
    if (path.startsWith('/v1/subscriptions')) return actOnSubscription({ method, path, form }, id)
    if (path.startsWith('/v1/invoice')) return actOnInvoice({ method, path, form }, id)
    const given = path.split('/')[3]
    return { status: 200, body: { id: given ?? `${path.split('/')[2]?.slice(0, 3)}_${id}` } }
  }

  /** A payment that was slow has succeeded when somebody looks again. */
  const lookAtPayments = (path: string, turn: Turn | null) => {
    const search = /challenge_id'\]:'([^']+)'/.exec(decodeURIComponent(path))
    if (search) return { status: 200, body: { data: charges.filter(({ challenge }) => challenge === search[1]) } }
    const payment = payments.get(path.split('/')[3] ?? '')
    if (!payment) return { status: 404, body: { error: { type: 'invalid_request_error' } } }
    if (turn === 'processing') return { status: 200, body: { id: payment.id, status: 'processing' } }
    if (!charges.includes(payment)) charges.push(payment)
    return { status: 200, body: { id: payment.id, status: 'succeeded' } }
  }

  const missing = { status: 404, body: { error: { type: 'invalid_request_error', code: 'resource_missing' } } }
  /** `?customer=`, newest first. */
  const listOf = (things: Iterable<object>, path: string) => {
    const customer = new URL(path, 'http://stripe').searchParams.get('customer')
    return {
      status: 200,
      body: { data: [...things].filter((one) => 'customer' in one && one.customer === customer).reverse(), has_more: false },
    }
  }

  const actOnInvoice = ({ method, path, form }: Pick<StripeRequest, 'method' | 'path' | 'form'>, id: string) => {
    if (method === 'GET' && path.includes('?')) return listOf(invoices.values(), path)
    if (path === '/v1/invoices') {
      const made: Invoice = {
        ...{ id: `in_${id}`, status: 'draft', customer: form.customer ?? '', auto_advance: form.auto_advance !== 'false' },
        attempted: false,
        ...{ metadata: metadataOf(form), lines: { data: [] } },
      }
      invoices.set(made.id, made)
      return { status: 200, body: made }
    }
    const invoice = invoices.get((path === '/v1/invoiceitems' ? form.invoice : path.split('/')[3]) ?? '')
    if (!invoice) return missing
    if (method === 'GET') return { status: 200, body: invoice }
    if (invoice.status !== 'draft') return { status: 400, body: { error: { type: 'invalid_request_error', code: 'invoice_not_editable' } } }
    if (path === '/v1/invoiceitems') invoice.lines.data.push({ amount: Number(form.amount), description: form.description ?? '' })
    else Object.assign(invoice, { status: 'open', auto_advance: form.auto_advance === 'true' })
    return { status: 200, body: invoice }
  }

  const actOnSubscription = ({ method, path, form }: Pick<StripeRequest, 'method' | 'path' | 'form'>, id: string) => {
    if (method === 'GET' && path.includes('?')) return listOf(subscriptions.values(), path)
    const subscription_id = path.split('/')[3] ?? `sub_${id}`
    const before = subscriptions.get(subscription_id)
    if (path.split('/')[3] && !before) return missing
    if (method === 'GET') return { status: 200, body: before ?? {} }
    const made = {
      id: subscription_id,
      status: 'active',
      customer: form.customer,
      metadata: metadataOf(form),
      cancel_at_period_end: false,
      items: { data: [{ id: `si_${id}`, current_period_end: 2_000_000_000, price: form['items[0][price]'] }] },
      ...before,
      ...(form['items[0][price]'] && before ? { price: form['items[0][price]'] } : {}),
      ...(form.cancel_at_period_end ? { cancel_at_period_end: form.cancel_at_period_end === 'true' } : {}),
      ...(method === 'DELETE' ? { status: 'canceled' } : {}),
    }
    subscriptions.set(subscription_id, made)
    return { status: 200, body: made }
  }

  const server = createServer(async (message: IncomingMessage, response: ServerResponse) => {
    let text = ''
    for await (const chunk of message) text += chunk
    const path = message.url ?? ''
    const key = (message.headers['idempotency-key'] as string | undefined) ?? null
    const form = Object.fromEntries(new URLSearchParams(text))
    const request = { method: message.method ?? '', path, form, key, headers: message.headers }
    requests.push(request)
    const turn = takeTurn(path)
    if (turn === 'lose') return message.socket.destroy()
    const now = clock.now().getTime()
    const remembered = known.get(key ?? '')
    const stored = remembered && remembered.at > now - keyLastsMs ? remembered : undefined
    if (stored && stored.form !== text) return send(response, 400, { error: { type: 'idempotency_error' } })
    const answer = stored ?? { ...act(request, turn), form: text, at: now }
    if (key !== null && answer.status !== 401) known.set(key, answer)
    if (turn?.endsWith('drop')) return message.socket.destroy()
    if (stored) response.setHeader('idempotent-replayed', 'true')
    return send(response, answer.status, answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const next: StripePeer['next'] = (path, ...wanted) => turns.push(...wanted.map((turn) => ({ path, turn })))
  return { url, requests, charges, subscriptions, invoices, next }
}

/** `metadata[plan]=light` → `{ plan: 'light' }` */
const metadataOf = (form: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(form).flatMap(([name, value]) => (name.startsWith('metadata[') ? [[name.slice(9, -1), value]] : [])))

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** What an app is configured with that sells the plan `light` through this peer. */
export const sellingThrough = ({ url }: { url: string }) => ({
  PAYMENTS: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_secret',
  STRIPE_PROFILE: 'profile_ours',
  STRIPE_API_URL: url,
  PLANS: '{"anonymous":10,"free":100,"light":{"emails":2000,"stripe_price":"price_light"}}',
})
