import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DnsName, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { sendRaw } from '../../../tests/support/raw-http.ts'
import {
  addSiteRecords,
  connectWith,
  type DomainList,
  newDomainList,
  ourAddresses,
  runDueSites,
  siteNotices,
} from '../../../tests/support/site-domains.ts'
import { until } from '../../../tests/support/until.ts'
import { parseId } from '../../base/ids.ts'
import { canonicalUrl, findList } from '../lists/index.ts'

/** Behind a proxy: no certificates are ordered. */
const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({
  DNS_SERVERS: dns.address,
  ROLES: 'http',
  SITE_TARGET: 'sites.ours.test',
  MCP_URL: 'https://mcp.example.com/mcp',
})
const { database } = app.services
const targetFor = ({ id }: DomainList) => `${id.slice(4)}.sites.ours.test`
/** What a reader of the host's feed gets. */
const feedAt = async (host: string): Promise<string> =>
  (await sendRaw(app.url, `GET /feed.json HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).body
const nameOf = ({ subdomain }: DomainList) => subdomain.replace('site-', 'Site ')
const shows = (host: string, list: DomainList | null) =>
  until(`${list?.subdomain ?? 'no site'} at ${host}`, async () => {
    const feed = await feedAt(host)
    return list ? feed.includes(`"title":"${nameOf(list)}"`) : !feed.includes('jsonfeed.org')
  })
const foundOf = (info: { records: { found: boolean }[] }) => info.records.map(({ found }) => found)

test('a list begins without a domain of its own', async () => {
  const list = await newDomainList(app)
  const home = `${app.services.config.PUBLIC_URL}/s/${list.subdomain}`
  const none = {
    domain: null,
    default_url: home,
    live_url: null,
    status: 'not_configured',
    records: [],
    next_step: `Nothing to do: the site is at ${home}. To show it at a domain of your own, connect one.`,
  }
  assert.deepEqual(await list.get(), none)
  assert.deepEqual(await list.check(), none)
  assert.equal((await list.disconnect()).status, 204)
  assert.deepEqual(await list.project.events(), [])
})

test('what is no domain of yours is refused, and changes nothing', async () => {
  const list = await newDomainList(app)
  const cases: [object, RegExp][] = [
    [{}, /^domain: is required/],
    [{ domain: '' }, /^domain: /],
    [{ domain: 7 }, /^domain: /],
    [{ domain: 'example' }, /^domain: has no dot/],
    [{ domain: 'co.uk' }, /^domain: is shared by many owners/],
    [{ domain: 'github.io' }, /^domain: is shared by many owners/],
    [{ domain: '192.0.2.1' }, /^domain: is an IP address/],
    [{ domain: '[2001:db8::1]' }, /^domain: is an IP address/],
    [{ domain: 'https://example.org' }, /^domain: is a web address/],
    [{ domain: 'me@example.org' }, /^domain: has an @/],
    [{ domain: '*.example.org' }, /^domain: /],
    [{ domain: 'a b.example.org' }, /^domain: /],
    [{ domain: 'posthaste.test' }, /^domain: is this installation’s own/],
    [{ domain: 'News.POSTHASTE.test.' }, /^domain: is this installation’s own/],
    [{ domain: 'mcp.example.com' }, /^domain: is this installation’s own/],
    [{ domain: 'a.sites.ours.test' }, /^domain: is this installation’s own/],
    [{ domain: `${'abcdefghi.'.repeat(19)}com` }, /^domain: is longer than 180 bytes/],
    [{ domain: 'blog.example.org', www_enabled: 'yes' }, /^www_enabled: /],
  ]
  for (const [body, message] of cases) {
    const answer = await list.project.post(list.path, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.match(answer.body.error.message, message, JSON.stringify(body))
  }
  assert.equal((await list.get()).status, 'not_configured')
  assert.deepEqual(await list.project.events(), [])
})

test('a subdomain behind a proxy is active when DNS leads here, and its host shows the site', async () => {
  const list = await newDomainList(app)
  const { status, body } = await list.connect(`  ${list.sub.toUpperCase()}. `, { www_enabled: true })
  assert.deepEqual([status, body.domain, body.records.length], [201, list.sub, 1])
  addSiteRecords(dns, body.records)
  await shows(list.sub, null)
  const live = await list.check()
  assert.deepEqual([live.status, live.live_url, foundOf(live)], ['active', `https://${list.sub}`, [true]])
  assert.equal(
    live.next_step,
    `Nothing to do: the site is live at https://${list.sub}. The proxy in front of this server does TLS: it needs a certificate for ${list.sub}.`,
  )
  await shows(list.sub, list)
  await shows(`${list.sub.toUpperCase()}:443`, list)
  assert.deepEqual(await siteNotices(app, list), [`Your site is live at ${list.sub}`])
  assert.equal((await database.many`select 1 from certificates where host = ${list.sub}`).length, 0)
  assert.equal((await list.disconnect()).status, 204)
  assert.equal((await list.get()).status, 'not_configured')
  await shows(list.sub, null)
  assert.deepEqual(await list.project.events(), [])
})

test('the same again changes nothing; another takes its place at once', async () => {
  const list = await newDomainList(app)
  await connectWith(dns, list, list.sub)
  const live = await list.check()
  const again = await list.connect(list.sub)
  assert.deepEqual([again.status, again.body], [201, live])
  await shows(list.sub, list)
  const other = await list.connect(`other-${list.sub}`)
  assert.deepEqual([other.status, other.body.status, other.body.domain], [201, 'pending', `other-${list.sub}`])
  await shows(list.sub, null)
  // The former one is free, and its record as good as before: it has the same target.
  const { body: back } = await list.connect(list.sub)
  assert.equal(back.records[0].value, live.records[0].value)
  assert.equal((await list.check()).status, 'active')
  assert.deepEqual(await list.project.events(), [])
})

test('a naked domain behind a proxy shows by a TXT record whose it is: one that was left leading here is nobody’s', async () => {
  const list = await newDomainList(app)
  const { body } = await list.connect(list.naked)
  assert.deepEqual(
    body.records.map(({ type, name, value }: Record<string, string>) => [type, name, value]),
    [
      ['ALIAS', list.naked, targetFor(list)],
      ['TXT', `_posthaste-verify.${list.naked}`, `posthaste-site=${list.id.slice(4)}`],
    ],
  )
  dns.names[targetFor(list)] = ourAddresses
  dns.names[list.naked] = ourAddresses
  const led = await list.check()
  assert.deepEqual([led.status, foundOf(led)], ['pending', [true, false]])
  assert.match(led.next_step, new RegExp(`^TXT _posthaste-verify\\.${list.naked} is not there yet\\. Until then`))
  await shows(list.naked, null)
  addSiteRecords(dns, body.records)
  assert.equal((await list.check()).status, 'active')
  await shows(list.naked, list)

  await list.disconnect()
  const stranger = await newDomainList(app)
  const claimed = await stranger.connect(list.naked)
  assert.equal(claimed.status, 201)
  dns.names[targetFor(stranger)] = ourAddresses
  const refused = await stranger.check()
  assert.deepEqual([refused.status, foundOf(refused)], ['pending', [true, false]])
  assert.match(refused.next_step, /says “posthaste-site=.*”\. Replace it with/)
  await shows(list.naked, null)
})

test('lists of one project do not share a domain', async () => {
  const list = await newDomainList(app)
  const other = await newDomainList(app, { project: list.project })
  await list.connect(list.naked, { www_enabled: true })
  const refusals: [string, object, RegExp][] = [
    [list.naked, {}, new RegExp(`^domain: ${list.naked} is connected to the list “Site \\d+”\\. Disconnect it there first`)],
    [`www.${list.naked}`, {}, /^domain: www\.example\d+\.test is connected to the list/],
  ]
  for (const [domain, more, message] of refusals) {
    const { status, body } = await other.connect(domain, more)
    assert.equal(status, 422)
    assert.match(body.error.message, message)
  }
  assert.equal((await other.get()).status, 'not_configured')
  assert.equal((await list.connect(list.naked)).status, 201)
  assert.equal((await other.connect(`www.${list.naked}`)).status, 201)
  const both = await list.connect(list.naked, { www_enabled: true })
  assert.equal(both.status, 422)
  assert.match(both.body.error.message, /^www_enabled: www\.example\d+\.test is connected to the list/)
  assert.equal((await list.get()).records.length, 2)
})

test('a naked domain that is another project’s moves to whoever’s TXT record is there, and stays', async () => {
  const former = await newDomainList(app)
  const domain = former.naked
  await connectWith(dns, former, domain)
  assert.equal((await former.check()).status, 'active')
  const owner = await newDomainList(app)
  dns.names[targetFor(owner)] = ourAddresses
  const refused = await owner.connect(domain)
  assert.equal(refused.status, 422)
  const name = `_posthaste-verify.${domain}`
  const value = `posthaste-site=${owner.id.slice(4)}`
  assert.equal(
    refused.body.error.message,
    `domain: is in use on this server. If it is yours, mend its DNS: TXT ${name} says “posthaste-site=${former.id.slice(4)}”. Replace it with ${value}, or add a second one. If you have changed it just now: the old value may still be remembered for up to 60 seconds. Then connect it again`,
  )
  const kept = dns.names[name] as DnsName
  const adding = `domain: is in use on this server. If it is yours, add a TXT record ${name} with the value ${value} to its DNS, and connect it again`
  dns.names[name] = {}
  assert.equal((await owner.connect(domain)).body.error.message, adding)
  dns.names[name] = { fails: 'SERVFAIL' }
  assert.ok(
    (await owner.connect(domain)).body.error.message.startsWith(`${adding}. Nobody can say just now whether TXT ${name} is there: `),
  )
  dns.names[name] = kept
  assert.equal((await owner.get()).status, 'not_configured')
  // Both records: what says that it is the former's may have been forgotten.
  dns.names[name]?.TXT?.push(value)
  const { status, body } = await owner.connect(domain)
  assert.deepEqual([status, body.status], [201, 'pending'])
  assert.equal((await former.get()).status, 'active')
  assert.equal((await owner.check()).status, 'active')
  await shows(domain, owner)

  const lost = await former.get()
  assert.deepEqual([lost.status, lost.live_url], ['failed', null])
  assert.match(lost.next_step, /^Another project on this server has shown that .* is theirs\./)
  assert.deepEqual(await siteNotices(app, former), [`Your site is live at ${domain}`, `${domain} has moved to another project`])
  // Nobody takes it back by themselves.
  app.clock.advance(40 * 24 * 3_600_000)
  await runDueSites(app)
  assert.equal((await former.get()).status, 'failed')
  await shows(domain, owner)
  // Without its record even who asks does not.
  dns.names[name] = { TXT: [value] }
  const asked = await former.check()
  assert.deepEqual([asked.status, foundOf(asked)], ['pending', [true, false]])
  await shows(domain, owner)
  for (const list of [former, owner]) assert.deepEqual(await list.project.events(), [])
})

test('a subdomain is whose target its CNAME points at', async () => {
  const former = await newDomainList(app)
  const domain = former.sub
  const owner = await newDomainList(app)
  // Both wait for it.
  for (const list of [former, owner]) assert.equal((await list.connect(domain)).status, 201)
  dns.names[domain] = { CNAME: targetFor(former) }
  dns.names[targetFor(former)] = ourAddresses
  dns.names[targetFor(owner)] = ourAddresses
  const elsewhere = await owner.check()
  assert.deepEqual([elsewhere.status, foundOf(elsewhere)], ['pending', [false]])
  assert.match(elsewhere.next_step, /points at “.*”, and a name can have only one CNAME/)
  assert.equal((await former.check()).status, 'active')
  const third = await newDomainList(app)
  assert.equal((await third.connect(domain)).status, 422)
  dns.names[domain] = { CNAME: targetFor(owner) }
  assert.equal((await owner.check()).status, 'active')
  assert.equal((await former.get()).status, 'failed')
  await shows(domain, owner)
  assert.deepEqual(await siteNotices(app, former), [`Your site is live at ${domain}`, `${domain} has moved to another project`])
})

test('another project’s list has no domain to see, to set or to take away', async () => {
  const list = await newDomainList(app)
  await connectWith(dns, list, list.sub)
  await list.check()
  const stranger = await app.newProject()
  for (const answer of [
    await stranger.get(list.path),
    await stranger.post(list.path, { domain: 'a.example.org' }),
    await stranger.request('DELETE', list.path),
    await stranger.post(`${list.path}/check`),
  ])
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  assert.equal((await list.get()).status, 'active')
  assert.deepEqual(await stranger.events(), [])
})

test('a domain goes with its list: another may have it at once', async () => {
  const list = await newDomainList(app)
  await connectWith(dns, list, list.sub)
  await list.check()
  await shows(list.sub, list)
  assert.equal((await list.project.request('DELETE', `/lists/${list.id}`)).status, 204)
  await shows(list.sub, null)
  const next = await newDomainList(app, { project: list.project })
  await connectWith(dns, next, list.sub)
  assert.equal((await next.check()).status, 'active')
  await shows(list.sub, next)
})

test('what readers are given to share or look at leads to the domain once it is live', async () => {
  const list = await newDomainList(app)
  const { body: line } = await list.project.post('/lists', { name: 'Line', type: 'waitlist' })
  await list.project.events()
  const path = `/lists/${line.id}`
  const join = async (email: string) => (await list.project.post(`${path}/join`, { email })).body.referral_url as string
  assert.match(await join('ann@example.org'), new RegExp(`/s/${line.subdomain}/join\\?ref=`))
  const { body } = await list.project.post(`${path}/site-domain`, { domain: list.sub })
  addSiteRecords(dns, body.records)
  assert.equal((await list.project.post(`${path}/site-domain/check`)).body.status, 'active')
  assert.match(await join('ben@example.org'), new RegExp(`^https://${list.sub}/join\\?ref=`))
  const row = (await findList(database, { project_id: list.project.id, list_id: parseId('lst', line.id)! }))!
  assert.equal(canonicalUrl(app.services.config, { ...row, domain: row.site_domain }), `https://${list.sub}`)
})
