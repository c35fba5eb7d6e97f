import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isIssued, rowOf, startDriven } from '../../../tests/support/certificates.ts'
import type { DnsName } from '../../../tests/support/dns-peer.ts'
import {
  addSiteRecords,
  connectNaked,
  connectWith,
  newDomainList,
  ourAddresses,
  runDueSites,
  siteNotices,
} from '../../../tests/support/site-domains.ts'
import { parseId } from '../../base/ids.ts'
import { purgeList } from '../lists/index.ts'
import { findSite } from '../sites/index.ts'

/** With certificates of our own making: the test takes each step of an order. */
const setup = await startDriven()
const { app, acme, dns, drive } = setup
const { database } = app.services
const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const hasCertificate = async (host: string) => (await database.first`select 1 from certificates where host = ${host}`) !== null

/** From nothing to a live subdomain. */
async function liveList() {
  const list = await newDomainList(app)
  await connectWith(dns, list, list.sub)
  await list.check()
  await drive(list.sub, isIssued)
  assert.equal((await list.check()).status, 'active')
  return list
}

test('a domain that leads elsewhere for a day is pending again, and heals by itself', async () => {
  const list = await liveList()
  const kept = dns.names[list.sub] as DnsName
  dns.names[list.sub] = { A: ['198.51.100.7'] }
  app.clock.advance(6 * hourMs)
  await runDueSites(app)
  const amiss = await list.get()
  assert.deepEqual([amiss.status, amiss.live_url, amiss.records[0].found], ['active', `https://${list.sub}`, false])
  assert.match(amiss.next_step, /^The site is at https:.*, but something is amiss: .* answers with addresses .*Mend it within a day/)

  // Name servers that do not answer are no proof of anything.
  dns.names[list.sub] = { fails: 'SERVFAIL' }
  for (let hour = 0; hour < 26; hour += 2) {
    app.clock.advance(2 * hourMs)
    await runDueSites(app)
  }
  assert.equal((await list.get()).status, 'active')

  dns.names[list.sub] = { CNAME: 'elsewhere.example.net' }
  for (let hour = 0; hour < 2; hour++) {
    app.clock.advance(hourMs)
    await runDueSites(app)
  }
  const gone = await list.get()
  assert.deepEqual([gone.status, gone.live_url], ['pending', null])
  assert.match(
    gone.next_step,
    /does not lead here any more\. CNAME .* points at “elsewhere\.example\.net”.* Until then the site is at http/,
  )
  assert.equal((await findSite(database, list.subdomain))?.domain, null)

  dns.names[list.sub] = kept
  app.clock.advance(minuteMs)
  await runDueSites(app)
  assert.equal((await list.get()).status, 'active')
  assert.equal((await findSite(database, list.subdomain))?.domain, list.sub)
  assert.deepEqual(await siteNotices(app, list), [
    `Your site is live at ${list.sub}`,
    `${list.sub} does not lead to your site any more`,
    `Your site is live at ${list.sub}`,
  ])
  assert.deepEqual(await list.project.events(), [])
})

test('after seven days it has failed and nothing is ordered any more; a check, or the same domain again, begins a new try', async () => {
  const list = await newDomainList(app)
  const body = await connectNaked(setup, list)
  const [, { value }] = body.records
  dns.names[list.naked] = {}
  app.clock.advance(7 * dayMs + minuteMs)
  await runDueSites(app)
  const failed = await list.get()
  assert.equal(failed.status, 'failed')
  assert.match(failed.next_step, /^Within seven days .* could not be connected\. .*When you have mended it, ask for a check\. Until then/)
  assert.equal(await hasCertificate(list.naked), false)
  assert.deepEqual(await siteNotices(app, list), [`${list.naked} could not be connected to your site`])
  app.clock.advance(2 * hourMs)
  await runDueSites(app)
  assert.equal(await hasCertificate(list.naked), false)

  assert.equal((await list.check()).status, 'pending')
  await drive(list.naked, ({ step }) => step === 'proving')
  const again = await list.get()
  assert.notEqual(again.records[1].value, value)
  addSiteRecords(dns, again.records)
  await drive(list.naked, isIssued)
  assert.equal((await list.check()).status, 'active')

  const other = await newDomainList(app)
  assert.equal((await other.connect(other.sub)).status, 201)
  app.clock.advance(7 * dayMs + minuteMs)
  await runDueSites(app)
  assert.equal((await other.get()).status, 'failed')
  assert.equal((await other.connect(other.sub)).body.status, 'pending')
  // What is failed heals without anybody asking, too.
  app.clock.advance(7 * dayMs + minuteMs)
  await runDueSites(app)
  assert.equal((await other.get()).status, 'failed')
  addSiteRecords(dns, (await other.get()).records)
  app.clock.advance(dayMs)
  await runDueSites(app)
  await drive(other.sub, isIssued)
  app.clock.advance(dayMs)
  await runDueSites(app)
  assert.equal((await other.get()).status, 'active')
})

test('a naked domain that was late shows no value of an order that is over; a check brings a new one', async () => {
  const list = await newDomainList(app)
  const { records } = await connectNaked(setup, list)
  dns.names[list.naked] = {}
  app.clock.advance(7 * dayMs + minuteMs)
  await runDueSites(app)
  const shown = async () => {
    const { status, records, next_step } = await list.get()
    return { status, next_step, records: records.map(({ type, found }: Record<string, unknown>) => [type, found]) }
  }
  assert.deepEqual((await shown()).records, [['ALIAS', false]])
  // Both as they were listed, but too late.
  addSiteRecords(dns, records)
  app.clock.advance(dayMs)
  await runDueSites(app)
  const late = await shown()
  assert.deepEqual([late.status, late.records, await hasCertificate(list.naked)], ['failed', [['ALIAS', true]], false])
  assert.match(
    late.next_step,
    /^Within seven days .* could not be connected\. The TXT record for the certificate needs a new value, which a check brings\. Ask for a check, and add/,
  )
  await list.check()
  await drive(list.naked, ({ step }) => step === 'proving')
  addSiteRecords(dns, (await list.get()).records)
  await drive(list.naked, isIssued)
  assert.equal((await list.check()).status, 'active')
})

test('the value of the TXT record is that of the order which is open', async () => {
  acme.settings.orderMs = 2 * hourMs
  const list = await newDomainList(app)
  const { records } = await connectNaked(setup, list)
  acme.settings.orderMs = 7 * dayMs
  app.clock.advance(3 * hourMs)
  await drive(list.naked, ({ ordered }) => ordered?.dns !== undefined && ordered.dns.value !== records[1].value)
  const { ordered } = await rowOf(app, list.naked)
  const info = await list.get()
  assert.deepEqual([info.records[1].value, info.records[1].found], [ordered?.dns?.value, false])
  // The old one is not taken for it.
  addSiteRecords(dns, [records[0], { ...records[1] }])
  const old = await list.check()
  assert.match(old.next_step, new RegExp(`^TXT _acme-challenge\\.${list.naked} says “.*”\\. Replace it with ${ordered?.dns?.value}`))
})

test('five orders that come to nothing are the end, until one does not', async () => {
  const list = await newDomainList(app)
  await connectWith(dns, list, list.sub)
  acme.settings.refusal = 'no route to the host'
  await list.check()
  for (let failures = 1; failures <= 5; failures++) {
    await drive(list.sub, (row) => row.failures === failures)
    app.clock.advance(minuteMs)
    await runDueSites(app)
    const info = await list.get()
    assert.equal(info.status, failures < 5 ? 'pending' : 'failed')
    assert.match(info.next_step, /The DNS records are right, but the certificate could not be had yet: .*no route to the host/)
    app.clock.advance(25 * hourMs)
  }
  assert.match((await list.get()).next_step, /^Five orders for the certificate of .* have come to nothing\./)
  assert.deepEqual(await siteNotices(app, list), [`${list.sub} could not be connected to your site`])
  acme.settings.refusal = null
  const asked = await list.check()
  assert.equal(asked.status, 'pending')
  await drive(list.sub, isIssued)
  assert.equal((await list.check()).status, 'active')
})

test('a certificate that the owner’s own records forbid is told of', async () => {
  acme.settings.caaIdentities = ['ca.test']
  const list = await newDomainList(app)
  await connectWith(dns, list, list.sub)
  dns.names['example.test'] = { CAA: ['0 issue other.test'] }
  await list.check()
  await drive(list.sub, ({ problem }) => problem !== null)
  const { status, next_step } = await list.get()
  assert.equal(status, 'pending')
  assert.match(
    next_step,
    /certificate could not be had yet: The CAA record .*other\.test.* does not let ca\.test issue a certificate\. Add a CAA record/,
  )
  dns.names['example.test'] = {}
  acme.settings.caaIdentities = []
})

test('who is second at a naked domain shows by a record of their own that it is theirs, and the first gets nothing of it', async () => {
  const first = await newDomainList(app)
  const told = await connectNaked(setup, first)
  const owner = await newDomainList(app)
  const { status, body } = await owner.connect(first.naked)
  assert.equal(status, 201)
  assert.deepEqual(
    body.records.map(({ type, name }: Record<string, string>) => [type, name]),
    [
      ['ALIAS', first.naked],
      ['TXT', `_posthaste-verify.${first.naked}`],
    ],
  )
  dns.names[first.naked] = ourAddresses
  dns.names[body.records[0].value] = ourAddresses
  dns.names[told.records[0].value] = ourAddresses
  assert.match((await owner.check()).next_step, /is not there yet\. Somebody else on this server has the domain, or is about to connect it/)
  assert.match((await first.check()).next_step, /^TXT _acme-challenge\.\S+ is not there yet\./)
  addSiteRecords(dns, body.records)
  const ordering = await owner.check()
  assert.match(ordering.next_step, /^The DNS records are right\. The certificate is being ordered/)
  await drive(first.naked, isIssued)
  assert.equal(acme.orders.filter(({ host }) => host === first.naked).at(-1)?.proved, 'http-01')
  assert.equal((await owner.check()).status, 'active')
  // What was seen of the record from before says nothing of the one that is wanted now.
  assert.match(
    (await first.get()).next_step,
    /^TXT _posthaste-verify\.\S+ was not looked for yet\. Somebody else on this server has the domain/,
  )
  const lost = await first.check()
  assert.deepEqual(
    [lost.status, lost.records.map(({ name, found }: Record<string, unknown>) => [name, found])],
    [
      'pending',
      [
        [first.naked, true],
        [`_posthaste-verify.${first.naked}`, false],
      ],
    ],
  )
  assert.equal((await owner.get()).status, 'active')
})

test('a domain that moves keeps its certificate', async () => {
  const former = await newDomainList(app)
  const body = await connectNaked(setup, former)
  addSiteRecords(dns, body.records)
  await drive(former.naked, isIssued)
  assert.equal((await former.check()).status, 'active')
  const { issued_at } = await rowOf(app, former.naked)
  const owner = await newDomainList(app)
  dns.names[`_posthaste-verify.${former.naked}`] = { TXT: [`posthaste-site=${owner.id.slice(4)}`] }
  dns.names[`${owner.id.slice(4)}.sites.posthaste.test`] = ourAddresses
  assert.equal((await owner.connect(former.naked)).status, 201)
  assert.equal((await owner.check()).status, 'active')
  const row = await rowOf(app, former.naked)
  assert.deepEqual([row.project_id, row.issued_at], [owner.project.id, issued_at])
  assert.equal((await former.disconnect()).status, 204)
  assert.equal(await hasCertificate(former.naked), true)
  assert.equal((await owner.get()).status, 'active')
})

test('what a deleted list leaves behind goes with its certificates', async () => {
  const list = await newDomainList(app)
  const { records } = await connectNaked(setup, list, { www_enabled: true })
  addSiteRecords(dns, records)
  await drive(list.naked, isIssued)
  assert.equal((await list.check()).status, 'active')
  assert.equal(await hasCertificate(`www.${list.naked}`), true)
  assert.equal((await list.project.request('DELETE', `/lists/${list.id}`)).status, 204)
  await purgeList.run(app.services, { project_id: list.project.id, list_id: parseId('lst', list.id)! })
  for (const host of [list.naked, `www.${list.naked}`]) assert.equal(await hasCertificate(host), false, host)
  const left = await database.many`
    select 1 from site_domains where project_id = ${list.project.id} union all select 1 from site_hosts where project_id = ${list.project.id}`
  assert.equal(left.length, 0)
})
