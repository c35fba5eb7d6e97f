import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { type DnsName, type DnsPeer, startDnsPeer } from '../../tests/support/dns-peer.ts'
import { createDns, type Dns } from './index.ts'

const peers: DnsPeer[] = []
const clients: Dns[] = []
after(async () => {
  for (const client of clients) client.close()
  for (const peer of peers) await peer.close()
})

async function peerWith(names: Record<string, DnsName>, place?: { host: string; port: number }): Promise<DnsPeer> {
  const peer = await startDnsPeer(names, place)
  peers.push(peer)
  return peer
}

function dnsOf(peer: DnsPeer, isPrivateAllowed = false): Dns {
  const dns = createDns({ servers: [peer.address], isPrivateAllowed, timeoutMs: 300 })
  clients.push(dns)
  return dns
}

const portOf = ({ address }: DnsPeer): number => Number(address.split(':')[1])
const found = (values: unknown[], ttl = 60, aliases: string[] = []) => ({ found: values, ttl, aliases })

describe('look-ups', () => {
  it('reads every type of record, and how long it may be kept', async () => {
    const long = `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`
    const dns = dnsOf(
      await peerWith({
        'example.test': {
          A: ['192.0.2.7'],
          AAAA: ['2001:db8::7'],
          MX: [[10, 'mx.example.test']],
          NS: ['ns1.example.test', 'ns2.example.test'],
          CAA: ['0 issue letsencrypt.org', '128 iodef mailto:a@example.test'],
          ttl: 3_600,
        },
        'k1._domainkey.example.test': { TXT: [long, 'second'] },
        'www.example.test': { CNAME: 'Example.test', ttl: 30 },
      }),
    )
    assert.deepEqual(await dns.addresses('example.test'), found(['192.0.2.7', '2001:db8::7'], 3_600))
    assert.deepEqual(await dns.mx('EXAMPLE.test.'), found([{ preference: 10, exchange: 'mx.example.test' }], 3_600))
    assert.deepEqual(await dns.ns('example.test'), found(['ns1.example.test', 'ns2.example.test'], 3_600))
    assert.deepEqual(
      await dns.caa('example.test'),
      found(
        [
          { critical: false, tag: 'issue', value: 'letsencrypt.org' },
          { critical: true, tag: 'iodef', value: 'mailto:a@example.test' },
        ],
        3_600,
      ),
    )
    assert.deepEqual(await dns.txt('k1._domainkey.example.test'), found([long, 'second']))
    assert.deepEqual(await dns.cname('www.example.test'), found(['Example.test'], 30))
    assert.deepEqual(await dns.addresses('www.example.test'), found(['192.0.2.7', '2001:db8::7'], 30, ['example.test']))
  })

  it('tells what is not there from what nobody can say', async () => {
    const dns = dnsOf(
      await peerWith({
        'example.test': { A: ['192.0.2.7'] },
        'broken.test': { fails: 'SERVFAIL' },
        'closed.test': { fails: 'REFUSED' },
        'quiet.test': { fails: 'silence' },
      }),
    )
    assert.deepEqual(await dns.txt('nowhere.test'), { missing: 'nxdomain' })
    assert.deepEqual(await dns.txt('example.test'), { missing: 'nodata' })
    assert.deepEqual(await dns.txt('broken.test'), { trouble: 'the name server answered SERVFAIL for broken.test' })
    assert.deepEqual(await dns.addresses('closed.test'), { trouble: 'the name server answered REFUSED for closed.test' })
    assert.deepEqual(await dns.txt('quiet.test'), { trouble: '127.0.0.1 did not answer in time' })
    assert.deepEqual(await dns.txt(`${'a'.repeat(64)}.test`), { trouble: `${'a'.repeat(64)}.test is no name that DNS can have` })
  })

  it('asks by TCP for what does not fit', async () => {
    const texts = Array.from({ length: 40 }, (_, number) => `${number} ${'x'.repeat(200)}`)
    const dns = dnsOf(await peerWith({ 'long.test': { TXT: texts, isLong: true } }))
    assert.deepEqual(await dns.txt('long.test'), found(texts))
  })

  it('asks by TCP where a reply by UDP does not repeat the question to the letter', async () => {
    const names: Record<string, DnsName> = {
      'careless.test': { TXT: ['a'], repeats: 'in small letters' },
      'mute.test': { TXT: ['b'], repeats: 'nothing' },
      'careful.test': { TXT: ['c'] },
    }
    const peer = await peerWith(names)
    const dns = dnsOf(peer)
    // By chance all letters of a question may be small; not of eight.
    for (let time = 0; time < 8; time++) assert.deepEqual(await dns.txt('careless.test'), found(['a']))
    assert.ok(peer.asked.length > 8)
    peer.asked.length = 0
    assert.deepEqual(await dns.txt('mute.test'), found(['b']))
    assert.deepEqual(await dns.txt('careful.test'), found(['c']))
    assert.deepEqual(peer.asked, ['TXT mute.test', 'TXT mute.test', 'TXT careful.test'])
  })

  it('takes no answer by UDP that repeats no question', async () => {
    const forger = createSocket('udp4')
    after(() => forger.close())
    forger.bind(0, '127.0.0.1')
    await once(forger, 'listening')
    forger.on('message', (query, { address, port }) => {
      // The record is of the name that was asked for. Nobody says so by TCP.
      const header = Buffer.concat([query.subarray(0, 2), Buffer.from([0x81, 0x80, 0, 0, 0, 1, 0, 0, 0, 0])])
      const record = Buffer.from('\x04mute\x04test\0\0\x10\0\x01\0\0\0\x3c\0\x02\x01a', 'latin1')
      forger.send(Buffer.concat([header, record]), port, address)
    })
    const dns = createDns({ servers: [`127.0.0.1:${forger.address().port}`], timeoutMs: 300 })
    clients.push(dns)
    assert.ok('trouble' in (await dns.txt('mute.test')))
  })

  it('leads on to names of any bytes, and quotes none that cannot be kept', async () => {
    const peer = await peerWith({
      'odd.test': { CNAME: 'a\0b.test' },
      'broken.test': { CNAME: `${'\x01'.repeat(60)}.${'\x01'.repeat(60)}.${'\x01'.repeat(60)}.test` },
      [`${'\x01'.repeat(60)}.${'\x01'.repeat(60)}.${'\x01'.repeat(60)}.test`]: { fails: 'SERVFAIL' },
    })
    const zone = dnsOf(peer)
    assert.deepEqual(await zone.cname('odd.test'), found(['a\\000b.test']))
    assert.deepEqual(await zone.txt('odd.test'), { missing: 'nxdomain' })
    assert.equal(peer.asked.at(-1), 'TXT a\0b.test')
    const answer = await zone.txt('broken.test')
    assert.match('trouble' in answer ? answer.trouble : '', /^the name server answered SERVFAIL for (\\001){60}[\\01.]+…$/)
  })

  it('gives up on names that lead in circles', async () => {
    const names: Record<string, DnsName> = {}
    for (let number = 0; number < 20; number++) names[`a${number}.test`] = { CNAME: `a${number + 1}.test` }
    const dns = dnsOf(await peerWith(names))
    assert.deepEqual(await dns.txt('a0.test'), { trouble: 'a0.test is led on by too many CNAME records' })
  })
})

describe('the zone’s own servers', () => {
  /** A resolver that remembers what was, and the zone's server at the same port of another address of this machine. */
  async function resolverAndZone(remembered: Record<string, DnsName>, zone: Record<string, DnsName>) {
    const resolver = await peerWith({
      'example.test': { NS: ['ns1.example.test'] },
      'ns1.example.test': { A: ['127.0.0.2'] },
      ...remembered,
    })
    const own = await peerWith(zone, { host: '127.0.0.2', port: portOf(resolver) })
    return { resolver, own }
  }

  it('know what a resolver has not heard of yet', async () => {
    const { resolver, own } = await resolverAndZone(
      {},
      { '_dmarc.example.test': { TXT: ['v=DMARC1; p=none'], ttl: 3_600 }, 'example.test': {} },
    )
    const dns = dnsOf(resolver, true)
    assert.deepEqual(await dns.txt('_dmarc.example.test'), { missing: 'nxdomain' })
    const zone = dns.authoritative('example.test')
    assert.deepEqual(await zone.txt('_dmarc.example.test'), { ...found(['v=DMARC1; p=none'], 3_600), isFirstHand: true })
    assert.deepEqual(await zone.txt('other.example.test'), { missing: 'nxdomain' })
    assert.deepEqual(own.asked, ['TXT _dmarc.example.test', 'TXT other.example.test'])
  })

  it('are asked on private addresses in development only', async () => {
    const { resolver, own } = await resolverAndZone(
      { 'a.example.test': { TXT: ['from the resolver'] } },
      { 'a.example.test': { TXT: ['from inside'] } },
    )
    assert.deepEqual(await dnsOf(resolver).authoritative('example.test').txt('a.example.test'), found(['from the resolver']))
    assert.deepEqual(own.asked, [])
  })

  it('are not asked about names of others', async () => {
    const { resolver, own } = await resolverAndZone(
      { 'other.test': { TXT: ['theirs'], NS: ['ns1.example.test'] } },
      { 'a.example.test': { CNAME: 'other.test' } },
    )
    assert.deepEqual(await dnsOf(resolver, true).authoritative('example.test').txt('a.example.test'), found(['theirs'], 60, ['other.test']))
    assert.deepEqual(own.asked, ['TXT a.example.test'])
  })

  it('give way to the resolver when they do not answer', async () => {
    const { resolver } = await resolverAndZone({ 'a.example.test': { TXT: ['remembered'] } }, { 'a.example.test': { fails: 'REFUSED' } })
    assert.deepEqual(await dnsOf(resolver, true).authoritative('example.test').txt('a.example.test'), found(['remembered']))
  })
})
