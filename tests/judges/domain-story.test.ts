import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visit } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { judgeMail } from '../support/judge-mail.ts'
import { startApp, type TestApp } from '../support/posthaste.ts'
import { sendRaw } from '../support/raw-http.ts'
import { mailsTo, mailTo } from '../support/received-mail.ts'
import { newSenderList, type SenderList, setUp } from '../support/senders.ts'
import { type DomainList, newDomainList, runDueSites } from '../support/site-domains.ts'
import { publish, reader } from '../support/sites.ts'
import { startSmtpPeer } from '../support/smtp-peer.ts'
import { until } from '../support/until.ts'
import { type Knot, startKnot, whyNoKnot } from './knot.ts'
import { startPebble, whyNoPebble } from './pebble.ts'

/**
 * One domain from nothing to a verified sender and live sites with certificates, in a name server and with an authority that others wrote.
 * Then each of its records is broken as people break them, told, and healed.
 */
const skip = whyNoKnot() || whyNoPebble()
const domain = 'story.test'

interface DnsRecord {
  type: string
  name: string
  value: string
}

async function start() {
  const knot = await startKnot()
  for (const name of ['sites.posthaste.test', '*.sites.posthaste.test']) await knot.set({ type: 'A', name, value: '127.0.0.1' })
  const [port, httpsPort] = [await freePort(), await freePort()]
  const pebble = await startPebble({ httpPort: port, dnsServer: knot.address })
  const peer = await startSmtpPeer()
  const app = await startApp({
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    HTTPS_PORT: String(httpsPort),
    ACME_DIRECTORY_URL: pebble.url,
    ACME_CA_FILE: pebble.caFile,
    SITE_TARGET: 'sites.posthaste.test',
    DNS_SERVERS: knot.address,
    ALLOW_PRIVATE_WEBHOOKS: 'true',
    OUTBOUND: `smtp://127.0.0.1:${peer.port}`,
  })
  test.after(async () => {
    // Pebble waits for those who are connected.
    await app.stop()
    for (const judge of [pebble, knot]) await judge.stop()
    await peer.close()
  })
  const open = async (host: string, path = '/') => visit({ host, port: httpsPort, ca: await pebble.root(), path })
  const plain = (host: string, path: string) =>
    sendRaw(app.url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ${reader}\r\nConnection: close\r\n\r\n`)
  return { app, knot, pebble, peer, open, plain }
}

type World = Awaited<ReturnType<typeof start>>

/** As an owner adds it: providers without an ALIAS take the address. */
const add = (knot: Knot, { type, name, value }: DnsRecord): Promise<void> =>
  knot.set(type === 'ALIAS' ? { type: 'A', name, value: '127.0.0.1' } : { type, name, value })

const remove = (knot: Knot, { type, name }: DnsRecord): Promise<void> => knot.unset(name, type === 'ALIAS' ? 'A' : type)

/** What the scheduler does every minute, and a minute of the certificates' own. */
async function untilLive({ app, pebble }: World, list: DomainList): Promise<void> {
  const isLive = async () => {
    // Not so fast that what pebble keeps for an hour is over by our clock.
    app.clock.advance(20_000)
    await runDueSites(app)
    return (await list.get()).status === 'active'
  }
  await until('the site to be live', isLive, { withinMs: 60_000, everyMs: 500 }).catch(async (error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(await list.get())}\n${pebble.log().slice(-3_000)}`)
  })
}

/** Sends a new post to a new reader, and answers what arrives. */
async function postTo({ peer }: World, { project, id }: SenderList, email: string) {
  await project.post(`/lists/${id}/subscribers`, { email, verified: true })
  const { body: post } = await project.post(`/lists/${id}/posts`, { subject: 'Hello', body_html: '<p>Hi</p>' })
  assert.equal((await project.post(`/lists/${id}/posts/${post.id}/send`)).status, 202)
  return mailTo(peer, email)
}

type Break = [what: string, record: DnsRecord, wrong: (DnsRecord & { ttl?: number }) | null, says: RegExp]

async function breakAndHeal(knot: Knot, check: () => Promise<{ next_step: string }>, breaks: Break[]): Promise<void> {
  for (const [what, record, wrong, says] of breaks) {
    await remove(knot, record)
    if (wrong) await knot.set(wrong)
    assert.match((await check()).next_step, says, what)
    if (wrong) await knot.unset(wrong.name, wrong.type)
    await add(knot, record)
    assert.match((await check()).next_step, /^Nothing to do/, what)
  }
}

async function verifySender(world: World, app: TestApp) {
  const list = await newSenderList(app, { domain })
  const before = await postTo(world, list, 'early@example.org')
  assert.match(before.from?.address ?? '', /@posthaste\.test$/)
  const records = (await setUp(list)) as DnsRecord[]
  for (const record of records) {
    assert.equal((await list.check()).status, 'pending')
    await add(world.knot, record)
  }
  assert.equal((await list.check()).status, 'verified')
  const mail = await postTo(world, list, 'late@example.org')
  assert.equal(mail.from?.address, `hello@${domain}`)
  assert.deepEqual(await judgeMail(mail, world.knot.address), {
    spf: 'pass',
    dkim: [`${domain} rsa-sha256 pass`, `${domain} ed25519-sha256 pass`],
    dmarc: 'pass',
  })
  return { list, records }
}

async function connectSite(world: World, list: DomainList, host: string, more: object = {}): Promise<DnsRecord[]> {
  const { status, body } = await list.connect(host, more)
  assert.equal(status, 201, JSON.stringify(body))
  assert.deepEqual(
    body.records.map(({ type }: DnsRecord) => type),
    host === domain ? ['ALIAS', 'TXT', 'CNAME'] : ['CNAME'],
  )
  for (const record of body.records) await add(world.knot, record)
  await untilLive(world, list)
  return body.records
}

test('a domain: verified sender, live sites, and each record broken and healed', { skip }, async () => {
  const world = await start()
  const { app, knot, open, plain, peer } = world
  const sender = await verifySender(world, app)
  const project = sender.list.project
  const [sub, naked] = [await newDomainList(app, { project }), await newDomainList(app, { project })]
  await publish(project, sub, { subject: 'First' })

  const host = `news.${domain}`
  const [cname] = (await connectSite(world, sub, host)) as [DnsRecord]
  const page = await open(host, '/p/first')
  assert.deepEqual([page.status, page.headers['strict-transport-security']], [200, 'max-age=31536000'])
  assert.match(page.issuer, /^Pebble Intermediate CA/)
  assert.match(page.body, new RegExp(`<link rel="canonical" href="https://${host}/p/first">`))
  assert.deepEqual([(await plain(host, '/p/first')).headers.location], [`https://${host}/p/first`])

  const [alias, txt, www] = (await connectSite(world, naked, domain, { www_enabled: true })) as [DnsRecord, DnsRecord, DnsRecord]
  assert.equal((await open(domain)).status, 200)
  await until('www', async () => (await open(www.name).catch(() => null))?.status === 200, { withinMs: 30_000, everyMs: 500 })
  const told = await until('the owner to be told', () => {
    const mails = mailsTo(peer, project.email)
    return mails.length >= 3 ? mails : null
  })
  assert.deepEqual(
    told.map(({ raw }) => /^Subject: (.*)$/m.exec(raw.toString())?.[1]?.trim()),
    [`${domain} is verified`, `Your site is live at ${host}`, `Your site is live at ${domain}`],
  )
  // It has done its work.
  await remove(knot, txt)
  assert.match((await naked.check()).next_step, /^Nothing to do/)

  const [rsa, ed, path, policy] = sender.records as [DnsRecord, DnsRecord, DnsRecord, DnsRecord]
  assert.deepEqual([rsa.type, ed.type, path.type, policy.type], ['TXT', 'TXT', 'CNAME', 'TXT'])
  await breakAndHeal(knot, sender.list.check, [
    ['RSA key gone', rsa, null, new RegExp(`TXT ${rsa.name} is not there`)],
    ['RSA key doubled', rsa, { ...rsa, name: `${rsa.name}.${domain}` }, /the domain is in its name twice/],
    ['RSA key quoted', rsa, { ...rsa, value: `"${rsa.value}"` }, /quotation marks inside/],
    ['return path elsewhere', path, { ...path, value: 'bounces.other.test' }, /points at “bounces\.other\.test”/],
    ['return path proxied', path, { type: 'A', name: path.name, value: '104.16.0.1' }, /orange cloud/],
    ['policy misspelt', policy, { ...policy, value: 'v=DMARC1; p=nonee' }, /can be none, quarantine or reject/],
  ])
  await breakAndHeal(knot, sub.check, [
    ['CNAME gone', cname, null, /CNAME news\.story\.test is not there/],
    ['CNAME doubled', cname, { ...cname, name: `${cname.name}.${domain}` }, /the domain is in its name twice/],
    ['CNAME elsewhere', cname, { ...cname, value: 'pages.other.test' }, /points at “pages\.other\.test”/],
    ['CNAME proxied', cname, { type: 'A', name: cname.name, value: '104.16.0.1' }, /orange cloud/],
  ])
  await breakAndHeal(knot, naked.check, [
    ['ALIAS gone', alias, null, /ALIAS story\.test is not there/],
    ['ALIAS elsewhere', alias, { type: 'A', name: domain, value: '192.0.2.7' }, /leads to “192\.0\.2\.7”, not here/],
    ['www gone', www, null, /CNAME www\.story\.test is not there/],
    ['www elsewhere', www, { ...www, value: 'pages.other.test' }, /points at “pages\.other\.test”/],
  ])
  assert.deepEqual([(await open(host)).status, (await open(domain)).status], [200, 200])
})
