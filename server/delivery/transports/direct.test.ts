import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { afterEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type DnsName, type DnsPeer, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { freePort } from '../../../tests/support/free-port.ts'
import { type SmtpPeer, type SmtpPeerOptions, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { createDirectTransport, type DirectSettings } from './direct.ts'
import { createTransport } from './index.ts'
import type { Outcome, Transport } from './transport.ts'

const about = { message_id: 'm1@example.com', subject: 'Hi' }
const message = Buffer.from('Subject: Hi\r\n\r\nHello\r\n')

const toClose: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const thing of toClose.splice(0)) await thing.close()
})

interface World {
  peers: SmtpPeer[]
  dns: DnsPeer
  transport: Transport
}

/** Servers at 127.0.0.1, 127.0.0.2 and so on, all on one port as in the world; what the DNS says of them; and a transport between. */
async function world(
  names: Record<string, DnsName>,
  scripts: SmtpPeerOptions[],
  settings: Partial<DirectSettings> = {},
  outbound = 'direct',
): Promise<World> {
  const port = await freePort()
  const peers = await Promise.all(scripts.map((script, index) => startSmtpPeer({ host: `127.0.0.${index + 1}`, port, ...script })))
  const dns = await startDnsPeer(names)
  const transport = createDirectTransport(outbound, {
    name: 'mail.sender.test',
    dnsServers: [dns.address],
    isPrivateAllowed: true,
    smtp_port: port,
    limits: { connect_ms: 3000, greeting_ms: 3000, socket_ms: 3000 },
    ...settings,
  })
  toClose.push(transport, ...peers, dns)
  return { peers, dns, transport }
}

const send = (transport: Transport, to = 'bob@example.test'): Promise<Outcome> =>
  transport.send({ from: 'b@sender.test', to }, message, about)
const counts = ({ peers }: World) => peers.map(({ messages }) => messages.length)

const threeHosts: Record<string, DnsName> = {
  'example.test': {
    MX: [
      [20, 'second.example.test'],
      [10, 'first.example.test'],
      [30, 'third.example.test'],
    ],
  },
  'first.example.test': { A: ['127.0.0.1'] },
  'second.example.test': { A: ['127.0.0.2'] },
  'third.example.test': { A: ['127.0.0.3'] },
}

test('mail goes to the host with the lowest preference, and says who we are', async () => {
  const here = await world(threeHosts, [{}, {}, {}])
  const outcome = await send(here.transport)
  assert.deepEqual(outcome, { kind: 'delivered', smtp_code: 250, response: '250 2.0.0 queued' })
  assert.deepEqual(counts(here), [1, 0, 0])
  assert.equal(here.peers[0]?.commands[0], 'EHLO mail.sender.test')
})

const troubles: [name: string, script: SmtpPeerOptions][] = [
  ['asks to come later at the greeting', { atGreeting: '421 4.3.2 busy' }],
  ['turns us away at the greeting', { atGreeting: '554 5.3.2 no' }],
  ['hangs up', { atGreeting: { drop: true } }],
  ['hangs up at MAIL', { atMail: { drop: true } }],
  ['speaks no SMTP', { atGreeting: 'HTTP/1.1 400 Bad Request' }],
]

for (const [name, script] of troubles) {
  test(`a host that ${name} is passed over for the next`, async () => {
    const here = await world(threeHosts, [script, script, {}])
    assert.equal((await send(here.transport)).kind, 'delivered')
    assert.deepEqual(counts(here), [0, 0, 1])
  })
}

test('a host where nothing listens, or without an address, is passed over; when all fail the mail is put off', async () => {
  const names = { ...threeHosts, 'first.example.test': {}, 'second.example.test': { A: ['127.0.0.9'] } }
  const here = await world(names, [{}, {}, {}])
  assert.equal((await send(here.transport)).kind, 'delivered')
  assert.deepEqual(counts(here), [0, 0, 1])
  const nobody = await world({ ...names, 'third.example.test': { A: ['127.0.0.9'] } }, [])
  const outcome = await send(nobody.transport)
  assert.ok(outcome.kind === 'deferred')
  assert.match(outcome.reason, /^Nothing answers at the mail server of the domain$/)
})

test('an answer about the message is final for this try: no other host is asked, nor after an unanswered dot', async () => {
  const refusals: [SmtpPeerOptions, Outcome['kind'], boolean][] = [
    [{ atRcpt: '550 5.1.1 no' }, 'bounced', false],
    [{ atRcpt: '550 5.7.1 relaying denied' }, 'bounced', false],
    [{ atRcpt: '451 4.7.1 greylisted' }, 'deferred', false],
    [{ atDot: { drop: true } }, 'deferred', true],
  ]
  for (const [script, kind, isUncertain] of refusals) {
    const here = await world(threeHosts, [script, {}, {}])
    const outcome = await send(here.transport)
    assert.equal(outcome.kind, kind)
    assert.equal('isUncertain' in outcome, isUncertain)
    assert.deepEqual(counts(here), [0, 0, 0])
  }
})

test('hosts of one preference are drawn by lot', async () => {
  const names: Record<string, DnsName> = { 'one.test': { A: ['127.0.0.1'] }, 'two.test': { A: ['127.0.0.2'] } }
  for (let index = 0; index < 40; index++)
    names[`d${index}.test`] = {
      MX: [
        [10, 'one.test'],
        [10, 'two.test'],
      ],
    }
  const here = await world(names, [{}, {}])
  for (let index = 0; index < 40; index++) await send(here.transport, `bob@d${index}.test`)
  const [one = 0, two = 0] = counts(here)
  assert.equal(one + two, 40)
  assert.ok(one > 0 && two > 0, 'one in 2^39 that this fails by chance')
  assert.ok((here.peers[0]?.connections ?? 0) <= 2, 'domains with one host share its connections')
})

test('without MX records the address of the domain counts; an IDN is asked for by its A-label', async () => {
  const here = await world({ 'xn--bcher-kva.test': { A: ['127.0.0.1'] } }, [{}])
  assert.equal((await send(here.transport, 'bob@Bücher.test')).kind, 'delivered')
  assert.deepEqual(here.peers[0]?.messages[0]?.to, ['bob@xn--bcher-kva.test'])
})

const hasIpv6 = Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))

test('IPv6 and IPv4 are both tried', { skip: hasIpv6 ? false : 'this machine has no IPv6' }, async () => {
  const here = await world({ 'example.test': { MX: [[10, 'mx.example.test']] }, 'mx.example.test': { A: ['127.0.0.9'], AAAA: ['::1'] } }, [
    { host: '::1' },
  ])
  assert.equal((await send(here.transport)).kind, 'delivered')
  const other = await world({ 'example.test': { MX: [[10, 'mx.example.test']] }, 'mx.example.test': { A: ['127.0.0.1'], AAAA: ['::1'] } }, [
    {},
  ])
  assert.equal((await send(other.transport)).kind, 'delivered')
})

const nowhere: [name: string, record: DnsName | undefined, kind: Outcome['kind'], code: string | null][] = [
  ['says that it takes no mail', { MX: [[0, '.']], A: ['127.0.0.1'] }, 'bounced', '5.1.10'],
  ['does not exist', undefined, 'bounced', '5.1.2'],
  ['has neither MX nor address', { TXT: ['hello'] }, 'deferred', null],
  ['has a DNS that fails', { fails: 'SERVFAIL' }, 'deferred', null],
  ['has an IP address for an MX', { MX: [[10, '127.0.0.1']] }, 'deferred', null],
  ['has an MX without an address', { MX: [[10, 'gone.example.test']] }, 'deferred', null],
]

for (const [name, record, kind, code] of nowhere) {
  test(`a domain that ${name}: ${kind} ${code ?? ''}`, async () => {
    const here = await world(record ? { 'example.test': record } : {}, [{}])
    const outcome = await send(here.transport)
    assert.ok(outcome.kind !== 'delivered')
    assert.deepEqual([outcome.kind, outcome.enhanced_code], [kind, code], JSON.stringify(outcome))
    assert.equal(here.peers[0]?.connections, 0)
    assert.doesNotMatch(outcome.reason, /OUTBOUND|relay/)
  })
}

test('nothing on this machine or its network gets mail unless that is allowed', async () => {
  for (const record of [{ A: ['127.0.0.1'] }, { A: ['10.0.0.1', '192.168.1.1'] }, { AAAA: ['::1'] }, { AAAA: ['fd00::1'] }]) {
    const here = await world({ 'example.test': { MX: [[10, 'mx.example.test']] }, 'mx.example.test': record }, [{}], {
      isPrivateAllowed: false,
    })
    const outcome = await send(here.transport)
    assert.ok(outcome.kind === 'deferred')
    assert.match(outcome.reason, /not on the open internet/)
    assert.equal(here.peers[0]?.connections, 0)
  }
})

test('a host is asked for once in a while, not for each message, and keeps its connections', async () => {
  const here = await world(threeHosts, [{}, {}, {}], {}, 'direct?connections=2')
  await Promise.all(Array.from({ length: 50 }, (_, index) => send(here.transport, `r${index}@example.test`)))
  assert.deepEqual(counts(here), [50, 0, 0])
  assert.equal(here.peers[0]?.connections, 2)
  assert.equal(here.dns.asked.filter((question) => question === 'MX example.test').length, 1)
})

test('a broken STARTTLS does not stand in the way, a good one is used', async () => {
  const good = await world(threeHosts, [{ offers: { starttls: true } }])
  assert.equal((await send(good.transport)).kind, 'delivered')
  assert.equal(good.peers[0]?.messages[0]?.tls, true)
  const broken = await world(threeHosts, [{ offers: { starttls: true }, atStartTls: { raw: '220 go\r\n', drop: true } }])
  assert.equal((await send(broken.transport)).kind, 'delivered')
  assert.equal(broken.peers[0]?.messages[0]?.tls, false)
})

test('verify says whether the DNS answers; close refuses what comes after', async () => {
  const here = await world({}, [])
  await here.transport.verify()
  here.dns.names['mail.sender.test'] = { fails: 'SERVFAIL' }
  await assert.rejects(here.transport.verify(), /The DNS does not answer; check the network and DNS_SERVERS/)
  await here.transport.close()
  const late = await send(here.transport)
  assert.ok(late.kind === 'deferred')
  assert.match(late.reason, /shutting down/)
})

test('OUTBOUND=direct makes it, with options that it knows', async () => {
  const dependencies = { storeCapturedMessage: async () => {}, mailDomain: 'sender.test' }
  for (const outbound of ['direct', 'direct?connections=3&rate=20']) {
    const transport = createTransport(outbound, dependencies)
    assert.equal(transport.name, 'direct')
    await transport.close()
  }
  assert.throws(
    () => createTransport('direct?weight=2', dependencies),
    /^Error: OUTBOUND has the option weight, but takes only connections, rate/,
  )
  assert.throws(() => createTransport('direct?connections=0', dependencies), /^Error: OUTBOUND has a connections/)
  assert.throws(
    () => createTransport('direct', { ...dependencies, dnsServers: ['resolver.example'] }),
    /^Error: DNS_SERVERS names no address/,
  )
  assert.throws(() => createTransport('direct', { storeCapturedMessage: async () => {} }), /needs MAIL_DOMAIN/)
})

test('a server that lets us wait has room for few; then others are told at once, and it is left alone for as long', async () => {
  const names: Record<string, DnsName> = {
    ...threeHosts,
    'tar.test': { MX: [[10, 'mx.tar.test']] },
    'more.tar.test': { MX: [[10, 'mx.tar.test']] },
    'mx.tar.test': { A: ['127.0.0.2'] },
  }
  const here = await world(names, [{}, { atGreeting: { hang: true } }], { limits: { greeting_ms: 1_500 } })
  const { transport } = here
  const hasRoomFor = (domain: string) => transport.hasRoomFor?.(domain)
  assert.equal((await send(transport)).kind, 'delivered')
  assert.equal(hasRoomFor('tar.test'), true)
  const first = send(transport, '1@tar.test')
  assert.equal(hasRoomFor('tar.test'), false, 'while its servers are looked up')
  await until('a connection', () => here.peers[1]?.open)
  const waiting = Array.from({ length: 13 }, (_, index) => send(transport, `${index}@tar.test`))
  const other = send(transport, '1@more.tar.test')
  await until('all to wait', () => !hasRoomFor('tar.test'))
  assert.deepEqual([hasRoomFor('more.tar.test'), hasRoomFor('example.test')], [false, true])
  for (const outcome of await Promise.all([first, other, ...waiting])) {
    assert.ok(outcome.kind === 'deferred')
    assert.equal(outcome.reason, 'The receiving server did not answer in time')
  }
  const { connections } = here.peers[1] as SmtpPeer
  const late = await send(transport, '2@tar.test')
  assert.ok(late.kind === 'deferred')
  assert.equal(here.peers[1]?.connections, connections, 'nobody was asked')
  await until('it to be asked again', async () => {
    await Promise.race([send(transport, '3@tar.test'), sleep(100)])
    return (here.peers[1]?.connections ?? 0) > connections
  })
  assert.equal(hasRoomFor('tar.test'), false, 'one is on trial')
  const beside = await send(transport, '4@more.tar.test')
  assert.ok(beside.kind === 'deferred')
  assert.equal(here.peers[1]?.connections, connections + 1)
})
