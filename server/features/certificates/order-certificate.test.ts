import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { isIssued, order, rowOf, startDriven } from '../../../tests/support/certificates.ts'
import { until } from '../../../tests/support/until.ts'
import { purgeProject } from '../projects/index.ts'
import { checkCertificate, findCertificate, forgetCertificate, moveCertificates } from './index.ts'
import { keepOwnHosts, ownHosts } from './own-hosts.ts'

const { app, acme, dns, target, node, drive } = await startDriven()
const { database } = app.services
const project = await app.newProject()
let count = 0
const newHost = () => `name${++count}.example.com`
const keyOf = (host: string) => ({ project_id: project.id, host })
const view = (host: string) => findCertificate(database, keyOf(host))
const check = (host: string) => database.transaction((tx) => checkCertificate(tx, keyOf(host)))
const hourMs = 60 * 60_000
/** So many hours after some time between then and now. */
function isAbout(time: Date, then: Date, hours: number): void {
  const began = time.getTime() - hours * hourMs
  assert.ok(began >= then.getTime() && began <= app.clock.now().getTime(), `${time.toISOString()} is not ${hours} hours later`)
}

beforeEach(async () => {
  acme.faults = []
  await database.run`delete from certificates`
})

test('a host that does not lead here is waited for, without an order; then it gets its certificate', async () => {
  const host = newHost()
  await order(app, { ...keyOf(host), target, challenges: ['http-01'] })
  const before = acme.orders.length
  await node().step()
  assert.deepEqual(await view(host), {
    host,
    status: 'waiting',
    not_after: null,
    is_proved: false,
    txt: null,
    problem: `${host} has no address in DNS yet.`,
    failures: 0,
  })
  dns.names[host] = { A: ['192.0.2.7'] }
  await check(host)
  await node().step()
  assert.equal((await view(host))?.problem, `${host} leads to 192.0.2.7, and not to ${target}.`)
  dns.names[host] = { fails: 'SERVFAIL' }
  await check(host)
  await node().step()
  assert.match((await view(host))?.problem ?? '', /^DNS cannot say where/)
  assert.equal(acme.orders.length, before)

  dns.names[host] = { A: ['127.0.0.1'] }
  await check(host)
  const row = await drive(host, isIssued)
  const seen = await view(host)
  assert.deepEqual([seen?.status, seen?.problem, seen?.not_after], ['issued', null, row.not_after])
})

test('by a TXT record: the value stays while the order does, and either proof will do', async () => {
  const host = newHost()
  await order(app, { ...keyOf(host), target, challenges: ['http-01', 'dns-01'] })
  await drive(host, ({ step, problem }) => step === 'proving' && problem !== null)
  const first = await view(host)
  assert.equal(first?.status, 'waiting')
  assert.equal(first?.txt?.name, `_acme-challenge.${host}`)
  assert.match(first?.txt?.value ?? '', /^[\w-]{43}$/)
  assert.equal(first?.problem, `${host} has no address in DNS yet. There is no TXT record at _acme-challenge.${host} yet.`)
  for (let days = 0; days < 6; days++) {
    app.clock.advance(86_400_000)
    await node().step()
    assert.deepEqual((await view(host))?.txt, first?.txt)
  }
  assert.equal(acme.orders.filter((one) => one.host === host).length, 1)

  app.clock.advance(2 * 86_400_000)
  await drive(host, ({ ordered, problem }) => ordered?.dns !== undefined && ordered.dns.value !== first?.txt?.value && problem !== null)
  const second = await view(host)
  assert.notEqual(second?.txt?.value, first?.txt?.value, 'the order has run out, and the next has another value')
  assert.equal(second?.failures, 0)

  dns.names[`_acme-challenge.${host}`] = { TXT: [first?.txt?.value ?? ''] }
  await check(host)
  await node().step()
  assert.match((await view(host))?.problem ?? '', /The TXT record at _acme-challenge\.name\d+\.example\.com has another value/)
  dns.names[`_acme-challenge.${host}`] = { TXT: ['a\0b'] }
  await check(host)
  await node().step()
  assert.match((await view(host))?.problem ?? '', /has another value: “a b”\.$/, 'bytes that cannot be kept are told of, too')
  dns.names[`_acme-challenge.${host}`] = { TXT: ['something else', second?.txt?.value ?? ''] }
  await check(host)
  await drive(host, isIssued)
  assert.equal(acme.orders.at(-1)?.proved, 'dns-01')
  assert.equal((await view(host))?.txt, null)
})

test('an order that fails says why, and the next waits an hour, then four, then a day', async () => {
  const host = newHost()
  dns.names[host] = { CNAME: target }
  await order(app, { ...keyOf(host), target, challenges: ['http-01'] })
  acme.settings.refusal = 'Invalid response\nfrom your server'
  const waits: number[] = []
  for (let failed = 1; failed <= 4; failed++) {
    const row = await drive(host, ({ failures }) => failures === failed)
    assert.deepEqual([row.step, row.ordered, row.order_key], ['idle', null, null])
    waits.push((row.due_at.getTime() - row.failed_at.at(-1)!.getTime()) / 60_000)
    const seen = await view(host)
    assert.deepEqual(
      [seen?.status, seen?.problem, seen?.failures, seen?.txt],
      ['failed', 'The certificate authority says: Invalid response from your server', failed, null],
    )
    assert.equal(await node().step(), false, 'not before its time')
    app.clock.advance(row.due_at.getTime() - app.clock.now().getTime())
  }
  assert.deepEqual(waits, [60, 240, 1440, 1440])
  acme.settings.refusal = null
})

test('who presses "check" gets another try at once, but at most five an hour fail', async () => {
  const host = newHost()
  dns.names[host] = { CNAME: target }
  await order(app, { ...keyOf(host), target, challenges: ['http-01'] })
  for (let failed = 1; failed <= 5; failed++) {
    acme.faults = [{ kind: 'new order', fault: { status: 400, type: 'rejectedIdentifier', detail: 'Not this one' } }]
    await drive(host, ({ failures }) => failures === failed)
    app.clock.advance(60_000)
    await check(host)
  }
  const row = await rowOf(app, host)
  assert.equal(row.problem, 'The certificate authority says: Not this one')
  assert.equal(row.due_at.getTime(), row.failed_at[0]!.getTime() + hourMs)
  assert.equal(await node().step(), false)
  app.clock.advance(hourMs)
  await drive(host, isIssued)
})

test('when the authority has had enough of us, nobody asks before it says', async () => {
  const host = newHost()
  dns.names[host] = { CNAME: target }
  await order(app, { ...keyOf(host), target, challenges: ['http-01'] })
  acme.faults = [{ kind: 'new order', fault: { status: 429, type: 'rateLimited', detail: 'too many orders', retryAfter: '7200' } }]
  const began = app.clock.now()
  const row = await drive(host, ({ troubles }) => troubles === 1)
  isAbout(row.due_at, began, 2)
  assert.equal(row.failures, 0)
  await check(host)
  assert.deepEqual((await rowOf(app, host)).due_at, row.due_at)
  assert.equal(await node().step(), false)
  app.clock.advance(7_201_000)
  acme.faults = [{ kind: 'new order', fault: { status: 429, type: 'rateLimited' } }]
  const again = app.clock.now()
  const second = await drive(host, ({ troubles }) => troubles === 2)
  isAbout(second.due_at, again, 1)
  app.clock.advance(3_601_000)
  await drive(host, isIssued)
})

test('another project sees and forgets nothing; its own project does', async () => {
  const host = newHost()
  dns.names[host] = { CNAME: target }
  await order(app, { ...keyOf(host), host: host.toUpperCase(), target, challenges: ['http-01'] })
  await drive(host, isIssued)
  const other = await app.newProject()
  const theirs = { project_id: other.id, host }
  assert.equal(await findCertificate(database, theirs), null)
  assert.equal(await findCertificate(database, { project_id: null, host }), null)
  await database.transaction((tx) => forgetCertificate(app.services, tx, theirs))
  await database.transaction((tx) => checkCertificate(tx, theirs))
  assert.equal((await view(host))?.status, 'issued')
  await database.transaction((tx) => moveCertificates(tx, { from: project.id, to: other.id }))
  assert.equal((await findCertificate(database, theirs))?.status, 'issued')
  await database.transaction((tx) => moveCertificates(tx, { from: other.id, to: project.id }))
  await database.transaction((tx) => forgetCertificate(app.services, tx, keyOf(host)))
  assert.equal(await view(host), null)
})

test('what is forgotten in the middle of an order is not ordered on', async () => {
  const host = newHost()
  dns.names[host] = { CNAME: target }
  await order(app, { ...keyOf(host), target, challenges: ['http-01'] })
  await drive(host, ({ step }) => step === 'proving')
  assert.equal((await database.many`select 1 from acme_challenges where host = ${host}`).length, 1)
  await database.transaction((tx) => forgetCertificate(app.services, tx, keyOf(host)))
  assert.deepEqual(await database.many`select 1 from acme_challenges where host = ${host}`, [])
  assert.equal(await node().step(), false)
})

test('a project that ends takes its certificates with it', async () => {
  const ending = await app.newProject()
  const host = newHost()
  await order(app, { project_id: ending.id, host, target, challenges: ['http-01'] })
  await database.run`update projects set deleted_at = now(), slug = 'deleted-' || id where id = ${ending.id}`
  await purgeProject.run(app.services, { project_id: ending.id })
  assert.equal(await rowOf(app, host), null)
})

test('the hosts of the installation have certificates for as long as the settings name them', async () => {
  const { config } = app.services
  const named = {
    ...config,
    PUBLIC_URL: 'https://Example.com',
    API_URL: 'https://api.example.com/v1',
    AUTH_URL: 'https://example.com',
    MCP_URL: 'http://mcp.example.com',
  }
  assert.deepEqual(ownHosts(named), ['example.com', 'api.example.com'])
  assert.deepEqual(ownHosts(config), [])
  for (const url of ['https://localhost:8443', 'https://192.0.2.1', 'https://[2001:db8::1]', 'https://raspberrypi'])
    assert.deepEqual(ownHosts({ ...named, PUBLIC_URL: url, API_URL: url, AUTH_URL: url, MCP_URL: url }), [], url)
  await keepOwnHosts({ database, config: named })
  await keepOwnHosts({ database, config: named })
  const own = async () =>
    (await database.many<{ host: string }>`select host from certificates where project_id is null order by host`).map(({ host }) => host)
  assert.deepEqual(await own(), ['api.example.com', 'example.com'])
  await keepOwnHosts({ database, config: { ...named, API_URL: 'https://example.com/v1' } })
  assert.deepEqual(await own(), ['example.com'])
  dns.names['example.com'] = { A: ['203.0.113.5'] }
  await until('its certificate', async () => {
    await node().step()
    return isIssued(await rowOf(app, 'example.com'))
  })
})
