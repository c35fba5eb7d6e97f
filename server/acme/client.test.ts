import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { type AcmeFault, startAcmePeer } from '../../tests/support/acme-peer.ts'
import { createCertificateAuthority, readRequest } from '../../tests/support/certificate-authority.ts'
import { startDnsPeer } from '../../tests/support/dns-peer.ts'
import { startHttpsPeer } from '../../tests/support/https-peer.ts'
import { peerCertificate } from '../../tests/support/peer-certificate.ts'
import { systemClock } from '../base/clock.ts'
import {
  type AcmeAccount,
  AcmeProblem,
  createAcme,
  dnsChallengeValue,
  keyAuthorization,
  makeCsr,
  newKey,
  readChain,
  renewalId,
} from './index.ts'
import { retryAfterMs } from './problem.ts'

const dns = await startDnsPeer({})
const peer = await startAcmePeer({ httpPort: 1, dns })
const clients = new Set<ReturnType<typeof createAcme>>()
const open = (directoryUrl = peer.url, ca: string | null = peerCertificate) => {
  const client = createAcme({ directoryUrl, ca, clock: systemClock })
  clients.add(client)
  return client
}
test.after(async () => {
  for (const client of clients) client.close()
  await peer.stop()
  await dns.close()
})
afterEach(() => {
  peer.faults = []
  peer.asked.splice(0)
})

const problemOf = (work: Promise<unknown>): Promise<AcmeProblem> =>
  work.then(
    () => assert.fail('it went well'),
    (error: unknown) => {
      assert.ok(error instanceof AcmeProblem, String(error))
      return error
    },
  )

async function newAccount(): Promise<{ acme: ReturnType<typeof createAcme>; account: AcmeAccount }> {
  const acme = open()
  const key = newKey()
  return { acme, account: { key, url: await acme.newAccount(key, 'owner@example.com') } }
}

test('an account that is asked for twice with one key is one account', async () => {
  const acme = open()
  const key = newKey()
  const url = await acme.newAccount(key, null)
  assert.equal(await acme.newAccount(key, null), url)
  assert.notEqual(await acme.newAccount(newKey(), null), url)
})

test('a nonce that is refused is replaced by the one that comes with the refusal; six are too many', async () => {
  const { acme, account } = await newAccount()
  peer.asked.splice(0)
  const badNonce: AcmeFault = { status: 400, type: 'badNonce' }
  peer.faults = Array(5).fill({ kind: 'new order', fault: badNonce })
  assert.equal((await acme.newOrder(account, { host: 'a.example' })).status, 'pending')
  assert.deepEqual(peer.asked, Array(6).fill('new order'), 'without asking for another nonce')
  peer.faults = Array(6).fill({ kind: 'new order', fault: badNonce })
  const problem = await problemOf(acme.newOrder(account, { host: 'a.example' }))
  assert.deepEqual([problem.type, problem.isPassing], ['badNonce', true])
})

test('ten questions at once need no nonce twice', async () => {
  const { acme, account } = await newAccount()
  const orders = await Promise.all(Array.from({ length: 10 }, (_, index) => acme.newOrder(account, { host: `n${index}.example` })))
  assert.equal(new Set(orders.map(({ url }) => url)).size, 10)
})

test('problems come with their kind, their words and how long to wait', async () => {
  const { acme, account } = await newAccount()
  const cases: [AcmeFault, string, boolean, number | null, RegExp][] = [
    [{ status: 429, type: 'rateLimited', detail: 'Too much', retryAfter: '90' }, 'rateLimited', true, 90_000, /^Too much$/],
    [{ status: 400, type: 'rejectedIdentifier', detail: 'Never\r\nthis' }, 'rejectedIdentifier', false, null, /^Never this$/],
    [{ status: 403, type: 'unauthorized' }, 'unauthorized', false, null, /^unauthorized$/],
    [{ status: 503, type: 'anything', retryAfter: '5' }, 'anything', true, 5_000, /^anything$/],
    ['garbage', 'malformedAnswer', true, null, /cannot be read/],
    ['drop', 'unreachable', true, null, /^localhost:\d+ could not be reached: /],
    ['half', 'unreachable', true, null, /could not be reached: aborted/],
  ]
  for (const [fault, type, isPassing, wait, words] of cases) {
    peer.faults = [{ kind: 'new order', fault }]
    const problem = await problemOf(acme.newOrder(account, { host: 'a.example' }))
    assert.deepEqual([problem.type, problem.isPassing, problem.retryAfterMs], [type, isPassing, wait], JSON.stringify(fault))
    assert.match(problem.message, words)
  }
})

test('an authority that is not who it says, or not there, is not asked', async () => {
  const stranger = await problemOf(open(peer.url, null).directory())
  assert.deepEqual([stranger.type, stranger.isPassing], ['unreachable', true])
  assert.match(stranger.message, /self-signed certificate/)
  const away = await problemOf(open('https://localhost:1/directory').directory())
  assert.match(away.message, /^localhost:1 could not be reached/)
})

test('answers that break the rules are refused: addresses without TLS, floods, directories with holes', async () => {
  const good = { newNonce: 'https://localhost:1/n', newAccount: 'https://localhost:1/a', newOrder: 'https://localhost:1/o' }
  let body = ''
  const site = await startHttpsPeer((_request, response) => void response.end(body))
  try {
    for (const [what, text] of Object.entries({
      'plain HTTP': JSON.stringify({ ...good, newOrder: 'http://localhost:1/o' }),
      'a hole': JSON.stringify({ newNonce: good.newNonce }),
      'no object': '[]',
      'no JSON': 'hello',
      'a flood': JSON.stringify({ ...good, more: 'x'.repeat(300_000) }),
    })) {
      body = text
      const problem = await problemOf(open(`${site.url}/directory`).directory())
      assert.deepEqual([problem.type, problem.isPassing], ['malformedAnswer', true], what)
    }
    body = JSON.stringify({ ...good, meta: { caaIdentities: ['ca.example'] } })
    const acme = open(`${site.url}/directory`)
    assert.deepEqual((await acme.directory()).meta?.caaIdentities, ['ca.example'])
    assert.equal(await acme.renewalInfo('a.b'), null, 'it offers none')
  } finally {
    site.stop()
  }
})

test('whoever stops does not wait for an answer', async () => {
  const silent = await startHttpsPeer(() => {})
  try {
    const acme = open(`${silent.url}/directory`)
    const asked = problemOf(acme.directory())
    acme.close()
    assert.equal((await asked).type, 'unreachable')
  } finally {
    silent.stop()
  }
})

test('seconds and dates say how long to wait; anything else says nothing', () => {
  const now = new Date('2026-01-01T00:00:00Z')
  assert.equal(retryAfterMs('120', now), 120_000)
  assert.equal(retryAfterMs('Thu, 01 Jan 2026 00:01:00 GMT', now), 60_000)
  assert.equal(retryAfterMs('Thu, 01 Jan 2015 00:01:00 GMT', now), 0)
  for (const nothing of [undefined, '', 'soon', '-5x']) assert.equal(retryAfterMs(nothing, now), null)
})

test('a request for a certificate names its host and is signed with its key', () => {
  for (const host of ['a.example', 'xn--bcher-kva.example', `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.example`])
    assert.equal(readRequest(makeCsr(host, newKey())).host, host)
})

test('the proof of a key is its thumbprint, with the members in the order of RFC 7638', () => {
  const key = newKey()
  const { x, y } = key.export({ format: 'jwk' })
  const thumbprint = createHash('sha256').update(`{"crv":"P-256","kty":"EC","x":"${x}","y":"${y}"}`).digest('base64url')
  assert.equal(keyAuthorization(key, 'token'), `token.${thumbprint}`)
  assert.equal(dnsChallengeValue('token.thumb'), createHash('sha256').update('token.thumb').digest('base64url'))
})

test('a certificate is known to the authority by its issuer’s key and its number (RFC 9773)', () => {
  const authority = createCertificateAuthority()
  const dates = { from: new Date('2026-01-01'), until: new Date('2026-04-01') }
  for (let time = 0; time < 20; time++) {
    const key = newKey()
    const chain = readChain(authority.issue(makeCsr('a.example', key), dates) + authority.root, { host: 'a.example', key })
    assert.deepEqual([chain.not_before, chain.not_after], [dates.from, dates.until])
    const [keyId = '', serial = ''] = (renewalId(chain.pem) ?? '').split('.')
    assert.equal(Buffer.from(keyId, 'base64url').length, 20)
    const number = new X509Certificate(chain.pem).serialNumber.toLowerCase()
    assert.equal(Buffer.from(serial, 'base64url').toString('hex').replace(/^00/, ''), number)
  }
  assert.equal(renewalId(authority.root), null)
})
