import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import {
  addSiteRecords,
  connectWith,
  type DomainList,
  newDomainList,
  runDueSites,
  siteNotices,
} from '../../../tests/support/site-domains.ts'
import { findSiteByHost } from './site-domain-queries.ts'

/** Behind a proxy: a naked domain is shown to be the list's by a record that may be in the zone for ever. */
const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http', SITE_TARGET: 'sites.ours.test' })
const { database } = app.services
const hourMs = 3_600_000
const dayMs = 24 * hourMs

const elsewhere = { A: ['198.51.100.9'] }
const holders = async (host: string) => (await database.many`select 1 from site_hosts where host = ${host}`).length
const verify = (domain: string, ...lists: DomainList[]) => {
  dns.names[`_posthaste-verify.${domain}`] = { TXT: lists.map(({ id }) => `posthaste-site=${id.slice(4)}`) }
}

async function pass(ms: number): Promise<void> {
  app.clock.advance(ms)
  await runDueSites(app)
}

/** A list whose TXT record was there all along, and whose domain has led elsewhere for seven days. */
async function lateList(): Promise<DomainList> {
  const list = await newDomainList(app)
  await connectWith(dns, list, list.naked)
  dns.names[list.naked] = elsewhere
  assert.equal((await list.check()).status, 'pending')
  assert.equal(await holders(list.naked), 1)
  await pass(7 * dayMs + 60_000)
  assert.equal((await list.get()).status, 'failed')
  return list
}

test('a list that gave up does not take a domain back by itself from whoever has it now; asked, it does', async () => {
  const late = await lateList()
  const domain = late.naked
  // Its record alone gives it nothing, so that whoever comes next need not wait for it.
  await pass(2 * hourMs)
  assert.equal(await holders(domain), 0)
  const owner = await newDomainList(app)
  dns.names[domain] = {}
  addSiteRecords(dns, (await owner.connect(domain)).body.records)
  verify(domain, late, owner)
  assert.equal((await owner.check()).status, 'active')
  for (let day = 0; day < 3; day++) await pass(dayMs)
  assert.equal((await owner.get()).status, 'active')
  assert.equal(await findSiteByHost(database, domain), owner.subdomain)
  const lost = await late.get()
  assert.deepEqual([lost.status, lost.live_url, lost.records[1].found], ['failed', null, false])
  assert.match(lost.next_step, /^Another project on this server has shown that .* is theirs\. If it is yours, .* ask for a check\./)
  assert.deepEqual(await siteNotices(app, owner), [`Your site is live at ${domain}`])
  assert.deepEqual(await siteNotices(app, late), [`${domain} could not be connected to your site`])

  assert.equal((await late.check()).status, 'active')
  assert.equal((await owner.get()).status, 'failed')
  await pass(dayMs)
  assert.equal(await findSiteByHost(database, domain), late.subdomain)
})

test('a list that gave up while another has the domain takes it only when asked, and is told so', async () => {
  const owner = await newDomainList(app)
  const domain = owner.naked
  const late = await newDomainList(app)
  assert.equal((await late.connect(domain)).status, 201)
  await connectWith(dns, owner, domain)
  assert.equal((await owner.check()).status, 'active')
  await pass(7 * dayMs + 60_000)
  assert.equal((await late.get()).status, 'failed')
  verify(domain, owner, late)
  dns.names[`${late.id.slice(4)}.sites.ours.test`] = { A: ['127.0.0.1'], AAAA: ['2001:db8::1'] }
  for (let day = 0; day < 2; day++) await pass(dayMs)
  const info = await late.get()
  assert.equal((await owner.get()).status, 'active')
  assert.deepEqual([info.status, ...info.records.map(({ found }: { found: boolean }) => found)], ['failed', true, true])
  assert.match(
    info.next_step,
    /All records are there, but somebody else on this server has the domain\. Ask for a check, and it is yours\./,
  )
  assert.equal((await late.check()).status, 'active')
  assert.deepEqual(await siteNotices(app, owner), [`Your site is live at ${domain}`, `${domain} has moved to another project`])
})

test('a domain that nobody else has heals by itself once it leads here', async () => {
  const late = await lateList()
  addSiteRecords(
    dns,
    (await late.get()).records.filter(({ type }: { type: string }) => type === 'ALIAS'),
  )
  await pass(2 * hourMs)
  assert.equal((await late.get()).status, 'active')
  assert.equal(await findSiteByHost(database, late.naked), late.subdomain)
})

test('a naked domain that has failed leaves its www to others, and has it again when it heals', async () => {
  const late = await newDomainList(app)
  const www = `www.${late.naked}`
  const records = await connectWith(dns, late, late.naked, { www_enabled: true })
  dns.names[late.naked] = elsewhere
  assert.equal((await late.check()).status, 'pending')
  assert.equal(await holders(www), 1)
  const other = await newDomainList(app, { project: late.project })
  assert.match((await other.connect(www)).body.error.message, /^domain: www\.\S+ is connected to the list/)
  await pass(7 * dayMs + 60_000)
  assert.equal((await late.get()).status, 'failed')
  // Its CNAME is still there, and so are the looks at it.
  await pass(2 * hourMs)
  assert.equal(await holders(www), 0)

  const { status, body } = await other.connect(www)
  assert.deepEqual([status, body.status], [201, 'pending'])
  addSiteRecords(dns, body.records)
  assert.equal((await other.check()).status, 'active')
  await pass(2 * hourMs)
  assert.equal(await findSiteByHost(database, www), other.subdomain)
  const refused = await late.connect(late.naked, { www_enabled: true })
  assert.match(refused.body.error.message, /^www_enabled: www\.\S+ is connected to the list/)

  assert.equal((await other.disconnect()).status, 204)
  addSiteRecords(dns, records)
  await pass(dayMs)
  assert.equal((await late.get()).status, 'active')
  assert.deepEqual([await findSiteByHost(database, late.naked), await findSiteByHost(database, www)], [late.subdomain, late.subdomain])
})

test('whoever loses a naked domain to another leaves its www, too', async () => {
  const former = await newDomainList(app)
  const [domain, www] = [former.naked, `www.${former.naked}`]
  await connectWith(dns, former, domain, { www_enabled: true })
  assert.equal((await former.check()).status, 'active')
  assert.equal(await holders(www), 1)
  const owner = await newDomainList(app)
  verify(domain, owner)
  dns.names[`${owner.id.slice(4)}.sites.ours.test`] = { A: ['127.0.0.1'], AAAA: ['2001:db8::1'] }
  assert.equal((await owner.connect(domain)).status, 201)
  assert.equal((await owner.check()).status, 'active')
  assert.deepEqual([(await former.get()).status, await holders(www)], ['failed', 0])
})
