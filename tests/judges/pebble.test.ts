import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createAcme } from '../../server/acme/index.ts'
import { ensureAccount } from '../../server/features/certificates/account.ts'
import { findCertificate, forgetCertificate } from '../../server/features/certificates/index.ts'
import { order, rowOf, startWithAuthority, untilRow, visit } from '../support/certificates.ts'
import { peerCertificate } from '../support/peer-certificate.ts'
import { until } from '../support/until.ts'
import { startPebble, whyNoPebble } from './pebble.ts'

/** An authority that others wrote takes our orders, looks at us as it would at anybody, and signs what browsers accept. */
const skip = whyNoPebble()

async function start(refusedNonces = 5) {
  const setup = await startWithAuthority({}, (place) => startPebble({ ...place, refusedNonces }))
  const { app, judge, dns, target } = setup
  const project = await app.newProject()
  const issued = async (host: string) => {
    await untilRow(app, host, ({ chain }) => chain !== null).catch((error: Error) => {
      throw new Error(`${error.message}\n${judge.log()}`)
    })
    return visit({ host, port: setup.httpsPort, ca: await judge.root() })
  }
  return { ...setup, project, issued, dns, target }
}

test('HTTP-01: a subdomain gets its certificate, and a browser that trusts pebble opens it', { skip }, async () => {
  const { app, dns, target, project, issued } = await start()
  const host = 'news.example.com'
  dns.names[host] = { CNAME: target }
  await order(app, { project_id: project.id, host, target, challenges: ['http-01'] })
  const page = await issued(host)
  assert.deepEqual([page.status, page.headers['strict-transport-security']], [200, 'max-age=31536000'])
  assert.match(page.issuer, /^Pebble Intermediate CA/)

  const { issued_at } = await rowOf(app, host)
  await app.services.database.run`update certificates set renew_at = now(), due_at = now() where host = ${host}`
  await untilRow(app, host, (row) => row.issued_at?.getTime() !== issued_at?.getTime())
  const renewed = await issued(host)
  assert.deepEqual([renewed.status, renewed.serial === page.serial], [200, false])
})

test('DNS-01: a naked domain is proved by the TXT record that its owner was shown', { skip }, async () => {
  const { app, dns, target, project, issued } = await start()
  const host = 'example.org'
  await order(app, { project_id: project.id, host, target, challenges: ['dns-01'] })
  const key = { project_id: project.id, host }
  const { txt } = await until('the record', async () => {
    const view = await findCertificate(app.services.database, key)
    return view?.txt ? { txt: view.txt } : null
  })
  dns.names[txt.name] = { TXT: [txt.value] }
  app.clock.advance(61_000)
  assert.equal((await issued(host)).status, 200)
})

test('what was proved, or was to be, is given up when its certificate is forgotten', { skip }, async () => {
  const { app, dns, target, project, judge, issued } = await start()
  const { services } = app
  const acme = createAcme({ directoryUrl: judge.url, ca: peerCertificate, clock: app.clock })
  after(() => acme.close())
  const [proved, open] = ['proved.example.com', 'open.example.com']
  dns.names[proved] = { CNAME: target }
  await order(app, { project_id: project.id, host: proved, target, challenges: ['http-01'] })
  await issued(proved)
  await order(app, { project_id: project.id, host: open, target, challenges: ['dns-01'] })
  await untilRow(app, open, ({ step }) => step === 'proving')
  const owner = await ensureAccount(services, acme)
  for (const [host, before] of [
    [proved, 'valid'],
    [open, 'pending'],
  ] as const) {
    const url = (await rowOf(app, host)).ordered!.authorization
    assert.equal((await acme.authorization(owner, url)).status, before)
    await services.database.transaction((tx) => forgetCertificate(services, tx, { project_id: project.id, host }))
    await until('it is given up', async () => (await acme.authorization(owner, url)).status === 'deactivated')
  }
})

test('half of all nonces are refused, and thirty hosts at once get theirs', { skip }, async () => {
  const { app, dns, target, project, judge, issued } = await start(50)
  const hosts = Array.from({ length: 30 }, (_, index) => `site${index}.example.net`)
  for (const host of hosts) {
    dns.names[host] = { CNAME: target }
    await order(app, { project_id: project.id, host, target, challenges: ['http-01'] })
  }
  // Six refusals in a row are trouble, and tried again a little later.
  const left = async () => {
    const rows = await app.services.database.many<{ host: string }>`select host from certificates where chain is null`
    // Not so fast that what pebble keeps for an hour is over by our clock.
    app.clock.advance(5_000)
    return rows.length === 0
  }
  await until('all certificates', left, { withinMs: 120_000, everyMs: 500 }).catch(async (error: Error) => {
    const rows = await app.services.database.many`
      select host, step, problem, failures, troubles, due_at from certificates where chain is null`
    throw new Error(`${error.message}\n${JSON.stringify(rows)}\n${judge.log().slice(-5_000)}`)
  })
  for (const host of hosts.slice(0, 3)) assert.equal((await issued(host)).status, 200)
})

test('a host that leads elsewhere is refused by the authority, in its words, and waits an hour', { skip }, async () => {
  const { app, dns, project } = await start()
  const host = 'wrong.example.com'
  // No target: nothing is looked at before the authority is.
  dns.names[host] = { A: ['127.0.0.9'] }
  await order(app, { project_id: project.id, host, target: null, challenges: ['http-01'] })
  const row = await untilRow(app, host, ({ failures }) => failures === 1)
  assert.match(row.problem ?? '', /^The certificate authority says: .*127\.0\.0\.9/)
  assert.equal(row.due_at.getTime() - row.failed_at[0]!.getTime(), 60 * 60_000)
})
