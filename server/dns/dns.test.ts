import assert from 'node:assert/strict'
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
    assert.deepEqual(await zone.txt('_dmarc.example.test'), found(['v=DMARC1; p=none'], 3_600))
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
