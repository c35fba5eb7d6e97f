import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../tests/support/dns-peer.ts'
import { findListing } from './dnsbl.ts'

const dns = await startDnsPeer({
  '2.0.0.127.bad.test': { A: ['127.0.0.4'] },
  '3.0.0.127.bad.test': { A: ['127.255.255.254'] },
  '4.0.0.127.bad.test': { A: ['203.0.113.7'] },
  '5.0.0.127.bad.test': { fails: 'SERVFAIL' },
  '5.0.0.127.worse.test': { A: ['127.0.0.2'] },
  '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.bad.test': { A: ['127.0.0.2'] },
})
after(() => dns.close())
const resolver = new Resolver({ timeout: 1_000, tries: 1 })
resolver.setServers([dns.address])
const lists = ['bad.test', 'worse.test']

test('an address on a list is refused, and the answer names the list', async () => {
  assert.deepEqual(await findListing(resolver, lists, '127.0.0.2'), {
    code: 554,
    enhanced: '5.7.1',
    text: 'Your address 127.0.0.2 is on the list of bad.test',
  })
  assert.match((await findListing(resolver, lists, '2001:db8::1'))?.text ?? '', /bad\.test/)
})

test('a list that will not say, fails or answers nonsense lists nobody', async () => {
  for (const address of ['127.0.0.1', '127.0.0.3', '127.0.0.4']) assert.equal(await findListing(resolver, lists, address), null, address)
  assert.match((await findListing(resolver, lists, '127.0.0.5'))?.text ?? '', /worse\.test/)
})
