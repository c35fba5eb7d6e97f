import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addSiteRecords, newDomainList, ourAddresses, runDueSites } from '../../../tests/support/site-domains.ts'

const dns = await startDnsPeer({})
// The zones' own server, at the same port of another address of this machine.
const zone = await startDnsPeer({}, { host: '127.0.0.2', port: Number(dns.address.split(':')[1]) })
after(async () => {
  await dns.close()
  await zone.close()
})
const app = await startApp({ DNS_SERVERS: dns.address, ALLOW_PRIVATE_WEBHOOKS: 'true', ROLES: 'http', SITE_TARGET: 'sites.ours.test' })
const hourMs = 3_600_000

test('what resolvers still remember of a domain that is right in its zone is told with the time it lasts', async () => {
  const list = await newDomainList(app)
  const { naked } = list
  dns.names[`ns.${naked}`] = { A: ['127.0.0.2'] }
  dns.names[naked] = { NS: [`ns.${naked}`], A: ['198.51.100.7'], ttl: 86_400 }
  const { body } = await list.connect(naked)
  const [alias] = body.records
  dns.names[alias.value] = ourAddresses
  addSiteRecords(zone, body.records)
  const { status, next_step } = await list.check()
  assert.equal(status, 'active')
  const [, until] =
    /^Nothing to do: the site is live at \S+ The proxy .* Not everybody sees it yet: an old value of ALIAS \S+ may be remembered until (.+) UTC\. Not everybody sees it yet: that there was no TXT _posthaste-verify\.\S+ may be remembered for up to a few hours\.$/.exec(
      next_step,
    ) ?? []
  const aheadMs = new Date(`${until?.replace(' ', 'T')}Z`).getTime() - app.clock.now().getTime()
  assert.ok(aheadMs > 23 * hourMs && aheadMs <= 24 * hourMs + 60_000, next_step)

  // Six hours later resolvers are asked themselves, and see the same as everybody.
  addSiteRecords(dns, body.records)
  app.clock.advance(6 * hourMs)
  await runDueSites(app)
  const later = (await list.get()).next_step
  assert.match(later, /^Nothing to do: the site is live at/)
  assert.doesNotMatch(later, /Not everybody sees it yet/)
})
