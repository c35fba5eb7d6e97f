import { type JsonWebKey, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type AcmeProblemAnswer, checkDns, checkHttp, openRequest, Refusal, refuse, thumbprint } from './acme-request.ts'
import { createCertificateAuthority, readRequest } from './certificate-authority.ts'
import type { DnsPeer } from './dns-peer.ts'
import { peerCertificate, peerKey } from './peer-certificate.ts'

/** What is asked of it: one word for each kind of request. */
export type AcmeKind =
  | 'directory'
  | 'nonce'
  | 'account'
  | 'new order'
  | 'order'
  | 'authorization'
  | 'challenge'
  | 'finalize'
  | 'certificate'
  | 'renewal'

/** In place of the answer. `lost`: it does what it is asked, and the answer never arrives. */
export type AcmeFault = 'drop' | 'lost' | 'garbage' | 'half' | AcmeProblemAnswer

export interface AcmePeer {
  /** As ACME_DIRECTORY_URL wants it. */
  url: string
  /** What browsers trust when they trust this authority. */
  root: string
  /** In order. */
  asked: AcmeKind[]
  /** Each is used once, by the next request of its kind. */
  faults: { kind: AcmeKind; fault: AcmeFault }[]
  settings: {
    lifeMs: number
    orderMs: number
    /** So many times an authorisation, or an order, is still being worked at before it is decided. */
    pendingLooks: number
    caaIdentities: string[]
    renewalWindow: { start: Date; end: Date } | null
    /** Whether what was proved for a host counts for its next orders (RFC 8555 section 7.1.3), and whether it can be given up. */
    reuse: 'never' | 'until deactivated' | 'always'
    /** Whether an order that is open is given again to who orders the same host, as Let's Encrypt does. */
    reusesPending: boolean
    /** What happens elsewhere while it takes an order. */
    whileOrdering: (() => Promise<unknown>) | null
    /** What every check ends with, if they are all to fail. */
    refusal: string | null
    /** What is issued, in place of what was asked for. */
    issues: ((chain: string) => string) | null
    now(): Date
  }
  orders: AcmeOrder[]
  /** How many accounts there are. */
  accounts: Map<string, JsonWebKey>
  /** As an authority that has lost its database. */
  forget(): void
  stop(): Promise<void>
}

export interface AcmeOrder {
  id: string
  host: string
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  token: string
  expires: Date
  proof: 'pending' | 'processing' | 'valid' | 'invalid' | 'deactivated'
  proved: string | null
  looks: number
  error?: { type: string; detail: string }
  chain?: string
  replaces?: string
}

interface Place {
  /** Where it looks for the proofs of HTTP-01, whatever the host. */
  httpPort: number
  dns: DnsPeer
}

/** A certificate authority (RFC 8555, RFC 9773) on https://localhost that does as it should, unless it is told otherwise. */
export async function startAcmePeer({ httpPort, dns }: Place): Promise<AcmePeer> {
  const authority = createCertificateAuthority()
  const nonces = new Set<string>()
  const server = createServer({ cert: peerCertificate, key: peerKey }, (request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const base = `https://localhost:${(server.address() as AddressInfo).port}`
  const peer: AcmePeer = {
    url: `${base}/directory`,
    root: authority.root,
    asked: [],
    faults: [],
    settings: {
      lifeMs: 90 * 86_400_000,
      orderMs: 7 * 86_400_000,
      pendingLooks: 0,
      caaIdentities: [],
      renewalWindow: null,
      reuse: 'never',
      reusesPending: false,
      whileOrdering: null,
      refusal: null,
      issues: null,
      now: () => new Date(),
    },
    orders: [],
    accounts: new Map(),
    forget() {
      peer.accounts.clear()
      peer.orders.splice(0)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const [kind, id] = kindOf(request.url ?? '')
    peer.asked.push(kind)
    const index = peer.faults.findIndex((one) => one.kind === kind)
    const fault = index === -1 ? null : peer.faults.splice(index, 1)[0]!.fault
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (fault === 'drop') return void request.socket.destroy()
    const nonce = randomBytes(12).toString('base64url')
    nonces.add(nonce)
    response.setHeader('replay-nonce', nonce)
    if (fault === 'garbage') return void response.end('<html>')
    try {
      if (fault !== null && typeof fault === 'object') throw new Refusal(fault)
      const told = request.method === 'POST' ? await post(Buffer.concat(chunks), { kind, id, url: `${base}${request.url}` }) : get(kind)
      if (fault === 'lost') return void request.socket.destroy()
      for (const [name, value] of Object.entries(told.headers ?? {})) response.setHeader(name, value)
      const text = typeof told.body === 'string' ? told.body : JSON.stringify(told.body)
      response.statusCode = told.status ?? 200
      if (fault === 'half') response.setHeader('content-length', text.length * 2).write(text)
      if (fault === 'half') return void setTimeout(() => request.socket.destroy(), 20)
      response.end(text)
    } catch (error) {
      const { status, type, detail, retryAfter } =
        error instanceof Refusal ? error.problem : { status: 500, type: 'serverInternal', detail: String(error) }
      if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter)
      response.statusCode = status
      response.setHeader('content-type', 'application/problem+json')
      response.end(JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: detail ?? type }))
    }
  }

  const get = (kind: AcmeKind): Told => {
    if (kind === 'nonce') return { body: '' }
    const { caaIdentities, renewalWindow } = peer.settings
    if (kind === 'renewal') return { body: { suggestedWindow: renewalWindow }, headers: { 'retry-after': '21600' } }
    if (kind !== 'directory') return refuse(405, 'malformed', 'POST-as-GET is the way')
    const ari = renewalWindow ? { renewalInfo: `${base}/renewal` } : {}
    return {
      body: { newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/new-order`, ...ari, meta: { caaIdentities } },
    }
  }

  const post = async (bytes: Buffer, { kind, id, url }: { kind: AcmeKind; id: string; url: string }): Promise<Told> => {
    const { header, payload, account } = openRequest(bytes, { url, accounts: peer.accounts, nonces })
    if (kind === 'account') {
      const isNew = !peer.accounts.has(account)
      peer.accounts.set(account, header.jwk!)
      return { status: isNew ? 201 : 200, headers: { location: `${base}/account/${account}` }, body: { status: 'valid' } }
    }
    if (kind === 'new order') {
      await peer.settings.whileOrdering?.()
      return newOrder(payload)
    }
    const order = peer.orders.find((one) => one.id === id) ?? refuse(404, 'malformed', 'No such order')
    if (kind === 'challenge') return beginCheck(order, url, peer.accounts.get(account)!)
    if (kind === 'authorization' && payload?.status === 'deactivated') deactivate(order)
    if (kind === 'authorization') return authorizationOf(order)
    if (kind === 'finalize') return finalize(order, payload)
    if (kind === 'certificate') return { body: order.chain ?? refuse(404, 'malformed', 'No certificate yet') }
    settle(order)
    return { body: orderBody(order) }
  }

  const newOrder = (payload: { identifiers?: { value: string }[]; replaces?: string }): Told => {
    const host = payload.identifiers?.[0]?.value ?? ''
    const { now, orderMs, reusesPending } = peer.settings
    const open = peer.orders.findLast((one) => one.host === host && one.proof === 'pending' && one.expires > now())
    if (reusesPending && open) return { status: 201, headers: { location: `${base}/order/${open.id}` }, body: orderBody(open) }
    const expires = new Date(now().getTime() + orderMs)
    const [id, token] = [randomBytes(8).toString('hex'), randomBytes(32).toString('base64url')]
    const order: AcmeOrder = {
      id,
      host,
      token,
      expires,
      status: 'pending',
      proof: 'pending',
      proved: null,
      looks: 0,
      ...(payload.replaces ? { replaces: payload.replaces } : {}),
    }
    const before = peer.orders.findLast((one) => one.host === host && one.proof === 'valid')
    if (peer.settings.reuse !== 'never' && before) Object.assign(order, { proof: 'valid', proved: before.proved, status: 'ready' })
    peer.orders.push(order)
    return { status: 201, headers: { location: `${base}/order/${id}` }, body: orderBody(order) }
  }

  const orderBody = ({ id, status, expires, error }: AcmeOrder) => ({
    status,
    expires: expires.toISOString(),
    authorizations: [`${base}/authorization/${id}`],
    finalize: `${base}/finalize/${id}`,
    ...(status === 'valid' ? { certificate: `${base}/certificate/${id}` } : {}),
    ...(error ? { error } : {}),
  })

  /** Those of one host are one authorisation where they are used again. */
  const deactivate = (asked: AcmeOrder) => {
    if (peer.settings.reuse === 'always') refuse(400, 'malformed', 'An authorisation cannot be deactivated')
    const isSame = (one: AcmeOrder) => one.host === asked.host && one.proof === 'valid'
    for (const order of peer.orders.filter((one) => isSame(one) || (one === asked && one.proof === 'pending'))) {
      order.proof = 'deactivated'
      if (order.status !== 'valid') order.status = 'invalid'
    }
  }

  const authorizationOf = (order: AcmeOrder): Told => {
    if (order.proof === 'processing' && order.looks++ >= peer.settings.pendingLooks) {
      order.proof = order.error ? 'invalid' : 'valid'
      order.status = order.error ? 'invalid' : 'ready'
      order.looks = 0
    }
    const status = order.proof === 'processing' ? 'pending' : order.proof
    const challenge = (type: string) => ({
      type,
      url: `${base}/challenge/${order.id}/${type.slice(0, 4)}`,
      status: order.proof === 'valid' && order.proved !== type ? 'pending' : order.proof,
      token: order.token,
      ...(order.proved === type && order.error ? { error: order.error } : {}),
    })
    return {
      body: {
        status,
        expires: order.expires.toISOString(),
        challenges: [challenge('dns-01'), challenge('http-01'), challenge('tls-alpn-01')],
      },
      headers: order.proof === 'processing' ? { 'retry-after': '1' } : {},
    }
  }

  const beginCheck = async (order: AcmeOrder, url: string, jwk: JsonWebKey): Promise<Told> => {
    const kind = url.endsWith('/http') ? 'http-01' : 'dns-01'
    if (order.proof !== 'pending') refuse(400, 'malformed', 'The authorisation is not pending any more')
    const wanted = `${order.token}.${thumbprint(jwk)}`
    order.proof = 'processing'
    order.proved = kind
    const problem = peer.settings.refusal ?? (kind === 'http-01' ? await checkHttp(order, wanted, httpPort) : checkDns(order, wanted, dns))
    if (problem) order.error = { type: 'urn:ietf:params:acme:error:unauthorized', detail: problem }
    return { body: { type: kind, url, status: 'processing', token: order.token } }
  }

  const finalize = (order: AcmeOrder, { csr = '' }: { csr?: string }): Told => {
    if (order.status !== 'ready') refuse(403, 'orderNotReady', `The order is ${order.status}`)
    const request = Buffer.from(csr, 'base64url')
    if (readRequest(request).host !== order.host) refuse(400, 'badCSR', 'The request names another host')
    const from = new Date(peer.settings.now().getTime() - 60_000)
    const leaf = authority.issue(request, { from, until: new Date(from.getTime() + peer.settings.lifeMs) })
    order.chain = peer.settings.issues ? peer.settings.issues(leaf + authority.root) : leaf + authority.root
    order.status = 'processing'
    settle(order)
    return { body: orderBody(order), headers: order.status === 'processing' ? { 'retry-after': '1' } : {} }
  }

  const settle = (order: AcmeOrder) => {
    if (order.status === 'processing' && order.looks++ >= peer.settings.pendingLooks) order.status = 'valid'
  }
  return peer
}

interface Told {
  status?: number
  headers?: Record<string, string>
  body: unknown
}

function kindOf(url: string): [kind: AcmeKind, id: string] {
  const [, first = '', id = ''] = url.split('/')
  return [first.replace('-', ' ') as AcmeKind, id]
}
