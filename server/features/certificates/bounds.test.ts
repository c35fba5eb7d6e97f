import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { AcmeKind } from '../../../tests/support/acme-peer.ts'
import type { AcmeProblemAnswer } from '../../../tests/support/acme-request.ts'
import { isIssued, order, rowOf, startDriven } from '../../../tests/support/certificates.ts'
import { keepOwnHosts } from './own-hosts.ts'

const { app, acme, dns, target, node, drive } = await startDriven()
const { database, config } = app.services
const project = await app.newProject()
const hourMs = 60 * 60_000
const dayMs = 24 * hourMs
let count = 0

async function newHost(): Promise<string> {
  const host = `bound${++count}.example.com`
  dns.names[host] = { CNAME: target }
  await order(app, { project_id: project.id, host, target, challenges: ['http-01'] })
  return host
}
const ordersOf = (host: string) => acme.orders.filter((one) => one.host === host)

/** As processes do it: each step that is due, and then on to the next that will be. */
async function tendFor(host: string, ms: number): Promise<void> {
  const until = app.clock.now().getTime() + ms
  const tending = node()
  for (let steps = 0; steps < 500; steps++) {
    if (await tending.step()) continue
    const { due_at } = await rowOf(app, host)
    if (due_at.getTime() > until) return void app.clock.advance(Math.max(0, until - app.clock.now().getTime()))
    app.clock.advance(Math.max(1, due_at.getTime() - app.clock.now().getTime()))
  }
  assert.fail(`${acme.asked.length} questions and no end: ${acme.asked.slice(-12).join(', ')}`)
}

/** Every request of this kind is answered so, until the function that comes back is called. */
function always(kind: AcmeKind, fault: AcmeProblemAnswer): () => void {
  const answers = { kind, fault }
  acme.faults = Array.from({ length: 1_000 }, () => answers)
  return () => {
    acme.faults = []
  }
}

beforeEach(async () => {
  acme.faults = []
  acme.asked.length = 0
  Object.assign(acme.settings, { now: app.clock.now, lifeMs: 90 * dayMs })
  await database.run`delete from certificates`
})

test('a clock that is ahead by more than an order lives makes an order an hour later, four hours, a day; and says so', async () => {
  acme.settings.now = () => new Date(app.clock.now().getTime() - 8 * dayMs)
  const host = await newHost()
  await tendFor(host, 2 * dayMs)
  assert.equal(ordersOf(host).length, 4)
  const { failures, problem, chain } = await rowOf(app, host)
  assert.deepEqual([failures, chain], [4, null])
  assert.match(problem ?? '', /^The order was over as soon as it was placed: the clock of this machine says 20\d\d-.* UTC, and that of/)
  acme.settings.now = app.clock.now
  await tendFor(host, 2 * dayMs)
  assert.equal(isIssued(await rowOf(app, host)), true, 'once it is right, the next order goes well')
})

test('a certificate that would be renewed at once, or is over, is not taken, and not asked for again and again', async () => {
  for (const [aheadMs, lifeMs] of [
    [5 * dayMs, 6 * dayMs],
    [2 * dayMs, dayMs],
  ] as const) {
    Object.assign(acme.settings, { lifeMs, now: () => new Date(app.clock.now().getTime() - aheadMs) })
    const host = await newHost()
    await tendFor(host, 2 * dayMs)
    assert.equal(ordersOf(host).length, 4)
    const { failures, problem, chain } = await rowOf(app, host)
    assert.deepEqual([failures, chain], [4, null])
    assert.match(problem ?? '', /^The certificate that came is good until 20\d\d-\d\d-\d\d only: the clock of this machine says/)
    await database.run`delete from certificates`
  }
})

test('an authority that forgets each order is asked for a second one soon, and then seldom', async () => {
  for (const fault of [
    { status: 404, type: 'malformed', detail: 'No such order' },
    { status: 400, type: 'malformed', detail: 'Not like this' },
  ]) {
    const isOver = always('finalize', fault)
    const host = await newHost()
    await tendFor(host, hourMs / 2)
    assert.equal(ordersOf(host).length, 2)
    await tendFor(host, 2 * dayMs)
    assert.equal(ordersOf(host).length, 5)
    const { failures, problem } = await rowOf(app, host)
    assert.deepEqual([failures, problem], [4, `The certificate authority says: ${fault.detail}`])
    isOver()
    await tendFor(host, 2 * dayMs)
    assert.equal(isIssued(await rowOf(app, host)), true)
    await database.run`delete from certificates`
  }
})

test('an order that is ready and is not, by turns, is given up', async () => {
  const isOver = always('finalize', { status: 403, type: 'orderNotReady', detail: 'Not ready' })
  const host = await newHost()
  await tendFor(host, hourMs / 2)
  assert.equal(ordersOf(host).length, 1)
  assert.equal(acme.asked.filter((kind) => kind === 'finalize').length, 3)
  const { failures, problem } = await rowOf(app, host)
  assert.deepEqual([failures, problem], [1, 'The certificate authority says by turns that the order is ready and that it is not.'])
  isOver()
  await tendFor(host, hourMs)
  assert.equal(isIssued(await rowOf(app, host)), true)
})

test('an authority that always wants the newest certificate renewed gets one a day', async () => {
  acme.settings.renewalWindow = { start: new Date(0), end: new Date(hourMs) }
  const host = await newHost()
  await tendFor(host, 3 * dayMs + hourMs)
  acme.settings.renewalWindow = null
  assert.equal(ordersOf(host).length, 4)
})

test('five orders an hour are the bound, whatever makes them', async () => {
  const host = await newHost()
  for (let times = 0; times < 8; times++) {
    await drive(host, isIssued)
    await database.run`update certificates set renew_at = ${app.clock.now()}, due_at = ${app.clock.now()} where host = ${host}`
    await tendFor(host, 60_000)
  }
  assert.equal(ordersOf(host).length, 5)
  await tendFor(host, hourMs)
  assert.equal(ordersOf(host).length, 6)
})

test('an order that runs out within the hour is followed by one when the hour is over', async () => {
  const before = acme.settings.orderMs
  acme.settings.orderMs = hourMs / 3
  const host = `slow${++count}.example.com`
  await order(app, { project_id: project.id, host, target, challenges: ['dns-01'] })
  await tendFor(host, 5 * hourMs + hourMs / 2)
  acme.settings.orderMs = before
  assert.equal(ordersOf(host).length, 6)
  assert.equal((await rowOf(app, host)).failures, 0)
})

test('a step that cannot be written down is taken again later and later', async () => {
  const host = await newHost()
  await database.run`
    create function refuse_order() returns trigger language plpgsql as $$ begin raise exception 'no room'; end $$`
  await database.run`
    create trigger refuse_order before update on certificates for each row when (new.step = 'ordered') execute function refuse_order()`
  await tendFor(host, hourMs)
  await database.run`drop trigger refuse_order on certificates`
  await database.run`drop function refuse_order`
  const { troubles, problem, failures } = await rowOf(app, host)
  assert.deepEqual([troubles, failures, problem], [5, 0, 'Something went wrong on our side. It is tried again by itself.'])
  assert.equal(ordersOf(host).length, 5)
  await tendFor(host, 2 * hourMs)
  assert.equal(isIssued(await rowOf(app, host)), true)
})

test('a start gives our own hosts another try: the clock may have been what was wrong', async () => {
  const named = { ...config, PUBLIC_URL: 'https://own.example.com', API_URL: 'https://own.example.com' }
  const host = 'own.example.com'
  dns.names[host] = { A: ['127.0.0.1'] }
  const services = { database, config: { ...named, AUTH_URL: named.PUBLIC_URL, MCP_URL: named.PUBLIC_URL } }
  await keepOwnHosts(services)
  await database.run`update certificates set due_at = now() + interval '1 year', failures = 3 where host = ${host}`
  assert.equal(await node().step(), false)
  await keepOwnHosts(services)
  await drive(host, isIssued)
})
