import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isIssued, startDriven, visit } from '../../../tests/support/certificates.ts'
import { sendRaw } from '../../../tests/support/raw-http.ts'
import { addSiteRecords, connectNaked, newDomainList, runDueSites, siteNotices } from '../../../tests/support/site-domains.ts'
import { publish, reader } from '../../../tests/support/sites.ts'
import { until } from '../../../tests/support/until.ts'

/** With certificates of our own making: the test takes each step of an order. */
const setup = await startDriven()
const { app, acme, dns, httpsPort, drive } = setup
const { database } = app.services
// A browser goes by its own clock.
acme.settings.now = () => new Date()
const open = (host: string, path: string) => visit({ host, port: httpsPort, ca: acme.root, path })
const plain = (host: string, path: string) =>
  sendRaw(app.url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ${reader}\r\nConnection: close\r\n\r\n`)
const minuteMs = 60_000

test('a subdomain: from nothing to a site over TLS, with one CNAME', async () => {
  const list = await newDomainList(app)
  await publish(list.project, list, { subject: 'First' })
  const { status, body } = await list.connect(list.sub)
  assert.equal(status, 201)
  const target = `${list.id.slice(4)}.sites.posthaste.test`
  const home = `${app.services.config.PUBLIC_URL}/s/${list.subdomain}`
  const record = { type: 'CNAME', name: list.sub, value: target, found: false, purpose: `Leads visitors of ${list.sub} to your site.` }
  assert.deepEqual(body, {
    domain: list.sub,
    default_url: home,
    live_url: null,
    status: 'pending',
    records: [record],
    next_step: `Add the records below to the DNS of ${list.sub}, where you registered it or keep its name servers. They are looked for every minute. Until then the site is at ${home}.`,
  })
  assert.deepEqual(await list.get(), body)
  dns.names['example.test'] = {}
  const missing = await list.check()
  assert.equal(missing.next_step, `CNAME ${list.sub} is not there yet. Until then the site is at ${home}.`)
  assert.equal(acme.orders.filter(({ host }) => host === list.sub).length, 0)

  addSiteRecords(dns, body.records)
  const ordering = await list.check()
  assert.deepEqual([ordering.status, ordering.live_url, ordering.records], ['pending', null, [{ ...record, found: true }]])
  assert.match(
    ordering.next_step,
    /^The DNS records are right\. The certificate is being ordered, which takes a minute or two\. Until then/,
  )
  assert.equal((await plain(list.sub, '/')).headers.location, undefined)
  await drive(list.sub, isIssued)

  app.clock.advance(minuteMs)
  await runDueSites(app)
  assert.deepEqual(await list.get(), {
    ...body,
    status: 'active',
    live_url: `https://${list.sub}`,
    records: [{ ...record, found: true }],
    next_step: `Nothing to do: the site is live at https://${list.sub}.`,
  })
  assert.deepEqual(await siteNotices(app, list), [`Your site is live at ${list.sub}`])
  assert.deepEqual(await list.project.events(), [])

  const page = await until('the page', async () => {
    const seen = await open(list.sub, '/p/first').catch(() => null)
    return seen?.status === 200 ? seen : null
  })
  assert.match(page.body, new RegExp(`<link rel="canonical" href="https://${list.sub}/p/first">`))
  assert.equal(page.headers['strict-transport-security'], 'max-age=31536000')
  const led = await plain(list.sub, '/p/first?a=b')
  assert.deepEqual([led.status, led.headers.location], [308, `https://${list.sub}/p/first?a=b`])
  for (const path of ['/feed.xml', '/atom.xml', '/feed.json', '/sitemap.xml'])
    assert.match((await open(list.sub, path)).body, new RegExp(`https://${list.sub}/p/first`), path)
  // The same pages under the default address say where the one is.
  const other = await until('the default page', async () => {
    const seen = await (await fetch(`${home}/p/first`)).text()
    return seen.includes(`rel="canonical" href="https://${list.sub}/p/first"`) ? seen : null
  })
  assert.match(other, /First/)
  assert.equal((await open(list.sub, '/v1/openapi.json')).status, 404)
})

test('a naked domain: its certificate comes by the TXT record, before it leads here; www when it does', async () => {
  const list = await newDomainList(app)
  const body = await connectNaked(setup, list, { www_enabled: true })
  const target = `${list.id.slice(4)}.sites.posthaste.test`
  const challenge = body.records[1].value
  assert.deepEqual(
    body.records.map(({ type, name, value, found }: Record<string, unknown>) => [type, name, value, found]),
    [
      ['ALIAS', list.naked, target, false],
      ['TXT', `_acme-challenge.${list.naked}`, challenge, false],
      ['CNAME', `www.${list.naked}`, target, false],
    ],
  )
  assert.match(challenge, /^[\w-]{43}$/)
  const again = await list.connect(list.naked, { www_enabled: true })
  assert.deepEqual([again.status, again.body], [201, body])
  dns.names[list.naked] = {}
  dns.names[target] = { A: ['127.0.0.1'] }
  addSiteRecords(dns, [body.records[1]])
  const half = await list.check()
  assert.deepEqual(
    half.records.map(({ found }: { found: boolean }) => found),
    [false, true, false],
  )
  assert.match(half.next_step, new RegExp(`^ALIAS ${list.naked} is not there yet\\.`))
  await drive(list.naked, isIssued)
  assert.equal(acme.orders.find(({ host }) => host === list.naked)?.proved, 'dns-01')
  // The record has done its work.
  delete dns.names[`_acme-challenge.${list.naked}`]
  const certified = await list.check()
  assert.deepEqual([certified.status, ...certified.records.map(({ found }: { found: boolean }) => found)], ['pending', false, true, false])

  addSiteRecords(dns, [body.records[0]])
  const live = await list.check()
  assert.deepEqual([live.status, live.live_url, live.records[1]], ['active', `https://${list.naked}`, { ...body.records[1], found: true }])
  assert.equal(live.next_step, `The site is live at https://${list.naked}. CNAME www.${list.naked} is not there yet.`)
  assert.equal((await database.many`select 1 from certificates where host = ${`www.${list.naked}`}`).length, 0)

  addSiteRecords(dns, [body.records[2]])
  const whole = await list.check()
  assert.equal(whole.next_step, `Nothing to do: the site is live at https://${list.naked}.`)
  await drive(`www.${list.naked}`, isIssued)
  for (const host of [list.naked, `www.${list.naked}`])
    await until(`the page at ${host}`, async () =>
      (await open(host, '/').catch(() => null))?.body.includes(`rel="canonical" href="https://${list.naked}/"`),
    )
  // From now on it is renewed without the record.
  const { challenges } = (await database.first<{ challenges: string[] }>`select challenges from certificates where host = ${list.naked}`)!
  assert.deepEqual(challenges, ['http-01'])
  assert.deepEqual(await siteNotices(app, list), [`Your site is live at ${list.naked}`])

  // Without www: its certificate goes, and the site stays.
  const { body: less } = await list.connect(list.naked, { www_enabled: false })
  assert.deepEqual([less.status, less.records.length], ['active', 2])
  assert.equal((await database.many`select 1 from certificates where host = ${`www.${list.naked}`}`).length, 0)
  assert.equal((await list.disconnect()).status, 204)
  assert.equal((await database.many`select 1 from certificates where host = ${list.naked}`).length, 0)
})
