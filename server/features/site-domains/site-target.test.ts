import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DnsName, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { createDns } from '../../dns/index.ts'
import { lookAtSiteTarget, type SiteTarget } from './site-target.ts'

const peer = await startDnsPeer({})
const dns = createDns({ servers: [peer.address], timeoutMs: 300 })
after(async () => {
  dns.close()
  await peer.close()
})

const name = 'sites.example.org'
const here: DnsName = { A: ['192.0.2.1'], AAAA: ['2001:db8::1'] }
const away: DnsName = { A: ['203.0.113.9'] }
const every: DnsName = { CNAME: name }
const dark: DnsName = { fails: 'SERVFAIL' }
const cases: [string, { itself?: DnsName; below?: DnsName }, SiteTarget['state'], RegExp, RegExp?][] = [
  [
    'is as it should be',
    { itself: here, below: every },
    'good',
    /^sites\.example\.org and names below it lead to this machine \(192\.0\.2\.1, /,
  ],
  ['has IPv4 alone below it', { itself: here, below: { A: ['192.0.2.1'] } }, 'good', /lead to this machine/],
  ['leads to a proxy', { itself: away, below: every }, 'good', /lead to 203\.0\.113\.9, which is not this machine: right if a proxy/],
  [
    'is not there',
    {},
    'wrong',
    /^sites\.example\.org has no address$/,
    /^Add A \(and AAAA\) sites\.example\.org .*CNAME \*\.sites\.example\.org to/,
  ],
  ['is a wildcard alone', { below: here }, 'wrong', /has no address$/, /^Add A/],
  [
    'has no wildcard',
    { itself: here },
    'wrong',
    /names below it have none$/,
    /^Add CNAME \*\.sites\.example\.org to sites\.example\.org: /,
  ],
  ['has a stray wildcard', { itself: here, below: away }, 'wrong', /names below it to “203\.0\.113\.9”$/, /both lead to the same place/],
  ['is nobody’s to say', { itself: dark, below: here }, 'unknown', /^nobody can say where sites\.example\.org leads: .*SERVFAIL/],
  ['has names below it that are nobody’s to say', { itself: here, below: dark }, 'unknown', /SERVFAIL/],
]
for (const [what, { itself, below }, state, seen, next] of cases)
  test(`the operator’s target of sites ${what}`, async () => {
    peer.names = { ...(itself && { [name]: itself }), ...(below && { [`*.${name}`]: below }) }
    const told = await lookAtSiteTarget(dns, { SITE_TARGET: name }, ['127.0.0.1', '192.0.2.1'])
    assert.equal(told.state, state)
    assert.match(told.seen, seen)
    if (next) assert.match(told.next ?? '', next)
    else assert.equal(told.next, null)
  })
