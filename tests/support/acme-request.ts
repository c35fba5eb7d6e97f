import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { request as plainRequest } from 'node:http'
import type { DnsPeer } from './dns-peer.ts'

export interface AcmeProblemAnswer {
  status: number
  type: string
  detail?: string
  retryAfter?: string
}

export class Refusal extends Error {
  readonly problem: AcmeProblemAnswer
  constructor(problem: AcmeProblemAnswer) {
    super(problem.type)
    this.problem = problem
  }
}

export const refuse = (status: number, type: string, detail = type): never => {
  throw new Refusal({ status, type, detail })
}

export const thumbprint = ({ crv, kty, x, y }: JsonWebKey): string =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')

export interface Opened {
  header: { alg: string; jwk?: JsonWebKey; kid?: string; nonce: string; url: string }
  // biome-ignore lint/suspicious/noExplicitAny: whatever the client sends
  payload: any
  account: string
}

/** What came, once it is known to be signed by who it says, for this address, and for the first time (RFC 8555 section 6). */
export function openRequest(bytes: Buffer, at: { url: string; accounts: Map<string, JsonWebKey>; nonces: Set<string> }): Opened {
  const jws = JSON.parse(bytes.toString()) as { protected: string; payload: string; signature: string }
  const header = JSON.parse(Buffer.from(jws.protected, 'base64url').toString()) as Opened['header']
  if (!at.nonces.delete(header.nonce)) refuse(400, 'badNonce')
  if (header.url !== at.url) refuse(401, 'unauthorized', 'The url is another one')
  if ((header.jwk === undefined) === (header.kid === undefined)) refuse(400, 'malformed', 'Either jwk or kid')
  const account = header.jwk ? thumbprint(header.jwk) : (header.kid?.split('/').at(-1) ?? '')
  const key = header.jwk ?? at.accounts.get(account) ?? refuse(400, 'accountDoesNotExist')
  const isGood = verify(
    'sha256',
    Buffer.from(`${jws.protected}.${jws.payload}`),
    { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(jws.signature, 'base64url'),
  )
  if (!isGood) refuse(400, 'malformed', 'The signature is not good')
  return { header, account, payload: jws.payload === '' ? {} : JSON.parse(Buffer.from(jws.payload, 'base64url').toString()) }
}

/** As an authority does it: by name, without a credential, from outside. */
export async function checkHttp({ host, token }: { host: string; token: string }, wanted: string, port: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const asked = plainRequest({ host: '127.0.0.1', port, path: `/.well-known/acme-challenge/${token}`, headers: { host }, agent: false })
  asked.on('error', (error) => resolve(`Could not connect: ${error.message}`))
  asked.on('response', async (response) => {
    const text = (await response.toArray()).join('')
    resolve(response.statusCode === 200 && text === wanted ? null : `Wrong answer with status ${response.statusCode}`)
  })
  asked.end()
  return promise
}

export function checkDns({ host }: { host: string }, wanted: string, dns: DnsPeer): string | null {
  const value = createHash('sha256').update(wanted).digest('base64url')
  return dns.names[`_acme-challenge.${host}`]?.TXT?.includes(value) ? null : 'No TXT record with the right value'
}
