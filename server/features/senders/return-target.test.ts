import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DnsName, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { readConfig } from '../../base/config.ts'
import { createLog } from '../../base/log.ts'
import { createDns } from '../../dns/index.ts'
import { lookAtReturnTarget, type ReturnTarget, warnOfReturnTarget } from './return-target.ts'

const peer = await startDnsPeer({})
const dns = createDns({ servers: [peer.address], timeoutMs: 300 })
after(async () => {
  dns.close()
  await peer.close()
})

const spf = 'v=spf1 ip4:192.0.2.1 -all'
const ours: DnsName = { MX: [[10, 'MX.example.org']], TXT: [spf] }
const cases: [string, DnsName | null, ReturnTarget['state'], RegExp, RegExp?][] = [
  ['is as it should be', ours, 'good', /^rp\.example\.org has its MX and one SPF record$/],
  ['has a second server and other texts', { MX: [[20, 'b.test'], ...(ours.MX ?? [])], TXT: ['hello', spf] }, 'good', /one SPF record/],
  ['is not there', null, 'wrong', /^rp\.example\.org has no MX record$/, /^Add MX rp\.example\.org 10 mx\.example\.org: bounces/],
  ['has SPF alone', { TXT: [spf] }, 'wrong', /has no MX record/, /are lost without it/],
  ['leads elsewhere', { ...ours, MX: [[10, 'mx.other.test']] }, 'wrong', /^MX rp\.example\.org points at “mx\.other\.test”$/, /^Add MX/],
  ['has no SPF', { ...ours, TXT: ['hello'] }, 'wrong', /has no SPF record/, /^Have one TXT record there, “v=spf1 … -all”/],
  ['has two of SPF', { ...ours, TXT: [spf, 'v=spf1 -all'] }, 'wrong', /has 2 SPF records, and receivers count none/, /^Have one/],
  ['is nobody’s to say', { fails: 'SERVFAIL' }, 'unknown', /^nobody can say what rp\.example\.org has: .*SERVFAIL/],
]
for (const [what, name, state, seen, next] of cases)
  test(`the operator’s return path ${what}`, async () => {
    if (name) peer.names['rp.example.org'] = name
    else delete peer.names['rp.example.org']
    const told = await lookAtReturnTarget(dns, { MAIL_DOMAIN: 'example.org', MX_HOST: 'mx.example.org' })
    assert.equal(told.state, state)
    assert.match(told.seen, seen)
    if (next) assert.match(told.next ?? '', next)
    else assert.equal(told.next, null)
  })

test('what is wrong with it is in the log of every start, unless the name is for trials', async () => {
  const warnings: unknown[] = []
  const log = Object.assign(createLog('silent'), { warn: (told: unknown) => void warnings.push(told) })
  const start = (MAIL_DOMAIN: string) => warnOfReturnTarget({ dns, log, config: readConfig({ MAIL_DOMAIN, MX_HOST: 'mx.example.org' }) })
  peer.names['rp.example.org'] = ours
  await start('example.org')
  assert.deepEqual(warnings, [])
  delete peer.names['rp.example.org']
  await start('example.org')
  await start('posthaste.test')
  assert.deepEqual(
    warnings.map((told) => (told as { seen: string }).seen),
    ['rp.example.org has no MX record'],
  )
})
