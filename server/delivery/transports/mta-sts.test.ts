import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, afterEach, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { type DnsPeer, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { mxCertificate } from '../../../tests/support/mx-certificate.ts'
import { type SmtpPeer, type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { createGuardedFetch, type GuardedFetch } from '../../base/guarded-fetch/index.ts'
import { createDirectTransport } from './direct.ts'
import { isListed, parsePolicy, StsPolicies, type StsPolicy } from './mta-sts.ts'
import type { Outcome, Transport } from './transport.ts'

const trusted = getCACertificates('default')
setDefaultCACertificates([...trusted, mxCertificate.cert])
after(() => setDefaultCACertificates(trusted))

const toClose: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of toClose.splice(0)) await thing.close()
})

interface Site {
  status?: number
  type?: string
  text: string
}

/** A web server for mta-sts.sts.test. */
async function startPolicySite(site: Site): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = []
  const server = createServer(mxCertificate, (request, response) => {
    asked.push(`${request.headers.host?.split(':')[0]}${request.url}`)
    response.writeHead(site.status ?? 200, { 'content-type': site.type ?? 'text/plain', location: 'https://mta-sts.sts.test/other' })
    response.end(site.text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  toClose.push({ close })
  return { port: (server.address() as AddressInfo).port, asked }
}

interface World {
  peer: SmtpPeer
  dns: DnsPeer
  transport: Transport
  asked: string[]
}

async function world(site: Site, script: SmtpPeerOptions, mx = 'mx.sts.test'): Promise<World> {
  const { port: policy_port, asked } = await startPolicySite(site)
  const peer = await startSmtpPeer(script)
  const dns = await startDnsPeer({
    'sts.test': { MX: [[10, mx]] },
    [mx]: { A: ['127.0.0.1'] },
    'mta-sts.sts.test': { A: ['127.0.0.1'] },
    '_mta-sts.sts.test': { TXT: ['v=STSv1; id=20260101;'] },
  })
  const settings = { name: 'sender.test', dnsServers: [dns.address], isPrivateAllowed: true, smtp_port: peer.port, policy_port }
  const transport = createDirectTransport('direct', settings)
  toClose.unshift(transport, peer, dns)
  return { peer, dns, transport, asked }
}

const send = (transport: Transport): Promise<Outcome> =>
  transport.send({ from: '', to: 'bob@sts.test' }, Buffer.from('Subject: Hi\r\n\r\nHello\r\n'), {
    message_id: 'm1@example.com',
    subject: 'Hi',
  })

function guardFor({ address }: DnsPeer, port: number, isPrivateAllowed: boolean): GuardedFetch {
  const guardedFetch = createGuardedFetch({ dnsServers: [address], ports: [port], isPrivateAllowed })
  toClose.unshift({ close: async () => guardedFetch.close() })
  return guardedFetch
}

const policy = (mode: string, mx = 'mx.sts.test') => `version: STSv1\r\nmode: ${mode}\r\nmx: ${mx}\r\nmax_age: 86400\r\n`
const secure: SmtpPeerOptions = { offers: { starttls: true }, certificate: mxCertificate }
/** A certificate for another name, signed by nobody. */
const selfMade: SmtpPeerOptions = { offers: { starttls: true } }
const stripped: SmtpPeerOptions = {}

const table: [name: string, site: Site, script: SmtpPeerOptions, expected: { kind: Outcome['kind']; tls?: boolean }][] = [
  ['enforce, a good certificate', { text: policy('enforce') }, secure, { kind: 'delivered', tls: true }],
  ['enforce, a wildcard', { text: policy('enforce', '*.sts.test') }, secure, { kind: 'delivered', tls: true }],
  ['enforce, a certificate that does not verify', { text: policy('enforce') }, selfMade, { kind: 'deferred' }],
  ['enforce, STARTTLS hidden', { text: policy('enforce') }, stripped, { kind: 'deferred' }],
  ['enforce, STARTTLS refused', { text: policy('enforce') }, { ...secure, atStartTls: '454 4.7.0 not now' }, { kind: 'deferred' }],
  ['enforce, another MX', { text: policy('enforce', 'mx.elsewhere.test') }, secure, { kind: 'deferred' }],
  ['testing, a certificate that does not verify', { text: policy('testing') }, selfMade, { kind: 'delivered', tls: true }],
  ['testing, another MX', { text: policy('testing', 'mx.elsewhere.test') }, stripped, { kind: 'delivered', tls: false }],
  ['none', { text: 'version: STSv1\nmode: none\nmax_age: 60\n' }, stripped, { kind: 'delivered', tls: false }],
  ['a policy that is none', { text: 'hello' }, stripped, { kind: 'delivered', tls: false }],
  ['a policy that moved', { status: 301, text: policy('enforce') }, stripped, { kind: 'delivered', tls: false }],
  ['a page in place of the policy', { type: 'text/html', text: policy('enforce') }, stripped, { kind: 'delivered', tls: false }],
  ['a policy without end', { text: `${policy('enforce')}${'x: y\r\n'.repeat(20_000)}` }, stripped, { kind: 'delivered', tls: false }],
]

for (const [name, site, script, expected] of table) {
  test(`${name}: ${expected.kind}`, async () => {
    const { transport, peer, asked } = await world(site, script)
    const outcome = await send(transport)
    assert.equal(outcome.kind, expected.kind, JSON.stringify(outcome))
    assert.deepEqual(asked, ['mta-sts.sts.test/.well-known/mta-sts.txt'])
    assert.equal(peer.messages[0]?.tls, expected.tls)
    if (expected.kind === 'deferred') assert.ok(!peer.commands.some((line) => line.startsWith('MAIL')))
  })
}

test('a domain without the record is not asked for a policy', async () => {
  const { transport, dns, asked } = await world({ text: policy('enforce') }, stripped)
  delete dns.names['_mta-sts.sts.test']
  assert.equal((await send(transport)).kind, 'delivered')
  assert.deepEqual(asked, [])
})

test('a policy is fetched once for its id, and holds on when it can no longer be seen', async () => {
  const site = { text: policy('enforce') }
  const { dns, asked } = await world(site, secure)
  const resolver = new Resolver()
  resolver.setServers([dns.address])
  const { port } = await startPolicySite(site)
  const policies = new StsPolicies({ resolver, guardedFetch: guardFor(dns, port, true), port })
  assert.equal((await policies.policyOf('sts.test'))?.mode, 'enforce')
  site.text = policy('testing')
  assert.equal((await policies.policyOf('sts.test'))?.mode, 'enforce', 'the id is the same')
  delete dns.names['_mta-sts.sts.test']
  assert.equal((await policies.policyOf('sts.test'))?.mode, 'enforce', 'the record is hidden')
  dns.names['_mta-sts.sts.test'] = { TXT: ['v=STSv1; id=2;'] }
  delete dns.names['mta-sts.sts.test']
  assert.equal((await policies.policyOf('sts.test'))?.mode, 'enforce', 'the web server is hidden')
  dns.names['mta-sts.sts.test'] = { A: ['127.0.0.1'] }
  assert.equal((await policies.policyOf('sts.test'))?.mode, 'testing')
  assert.deepEqual(asked, [])
})

test('a policy on a private address is not fetched unless that is allowed', async () => {
  const { dns } = await world({ text: policy('enforce') }, secure)
  const { port, asked } = await startPolicySite({ text: policy('enforce') })
  const resolver = new Resolver()
  resolver.setServers([dns.address])
  const policies = new StsPolicies({ resolver, guardedFetch: guardFor(dns, port, false), port })
  assert.equal(await policies.policyOf('sts.test'), null)
  assert.deepEqual(asked, [])
})

test('policies are read as RFC 8461 writes them', () => {
  const read = parsePolicy('version: STSv1\nmode: enforce\nmx: MX1.example.com\nmx: *.example.net\nmax_age: 604800\nnew: thing\n')
  assert.deepEqual(read, { mode: 'enforce', mx: ['mx1.example.com', '*.example.net'], max_age: 604800 } satisfies StsPolicy)
  assert.equal(parsePolicy('version: STSv1\nmode: enforce\nmx: a.b\nmax_age: 9999999999\n')?.max_age, 31_557_600)
  for (const text of [
    '',
    'mode: enforce\nmx: a.b\nmax_age: 1',
    'version: STSv1\nmode: maybe\nmx: a.b\nmax_age: 1',
    'version: STSv1\nmode: enforce\nmax_age: 1',
    'version: STSv1\nmode: enforce\nmx: a.b',
  ])
    assert.equal(parsePolicy(text), null, text)
})

test('a wildcard stands for one label', () => {
  const { mx, ...rest } = parsePolicy(policy('enforce', '*.example.net')) as StsPolicy
  const listed = ['mx.example.net', 'a.mx.example.net', 'example.net', 'mx.example.com', 'xexample.net'].map((host) =>
    isListed({ mx, ...rest }, host),
  )
  assert.deepEqual(listed, [true, false, false, false, false])
})
