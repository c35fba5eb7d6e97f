import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { isIssued, order, rowOf, startDriven } from '../../../tests/support/certificates.ts'
import { renewalId } from '../../acme/index.ts'
import { nextLook, renewalTime, renewalTimeWithin, warningsDue } from './certificate.ts'
import { warnOfExpiry } from './warn-of-expiry.ts'

const { app, acme, dns, target, node, drive } = await startDriven()
const { database, clock } = app.services
const project = await app.newProject()
const dayMs = 86_400_000
let count = 0

async function issued(): Promise<string> {
  const host = `renew${++count}.example.com`
  dns.names[host] = { CNAME: target }
  await order(app, { project_id: project.id, host, target, challenges: ['http-01'] })
  await drive(host, isIssued)
  return host
}
const daysUntil = (time: Date | null) => ((time?.getTime() ?? 0) - clock.now().getTime()) / dayMs
const toldOf = (host: string) => database.many<{ to: string; text: string }>`
  select mail->>'to' as to, mail->>'text' as text from messages where kind = 'certificate_ending' and mail->>'subject' like ${`%${host}%`}`

beforeEach(async () => {
  acme.faults = []
  await database.run`delete from certificates`
})

test('a certificate is renewed when two thirds of its life are over, however long that is, and a little sooner by chance', () => {
  for (const days of [6, 45, 90]) {
    const dates = { not_before: new Date(0), not_after: new Date(days * dayMs) }
    assert.equal(renewalTime(dates, 0).getTime(), (days * dayMs * 2) / 3)
    const soonest = renewalTime(dates, 1).getTime()
    assert.ok(soonest < (days * dayMs * 2) / 3 && soonest > days * dayMs * 0.63)
  }
})

test('a window of the authority counts, is chosen from once, and never leads too close to the end', () => {
  const row = { not_before: new Date(0), not_after: new Date(90 * dayMs), issued_at: new Date(0), renew_at: new Date(60 * dayMs) }
  const window = { start: new Date(10 * dayMs), end: new Date(12 * dayMs) }
  assert.equal(renewalTimeWithin(window, row, 0.5).getTime(), 11 * dayMs)
  assert.equal(renewalTimeWithin(window, { ...row, renew_at: new Date(10.5 * dayMs) }, 0.9).getTime(), 10.5 * dayMs)
  const late = { start: new Date(89 * dayMs), end: new Date(95 * dayMs) }
  assert.equal(renewalTimeWithin(late, row, 0.5).getTime(), 75 * dayMs)
  const past = { start: new Date(-2 * dayMs), end: new Date(-dayMs) }
  assert.equal(renewalTimeWithin(past, row, 0.5).getTime(), dayMs)
  assert.equal(renewalTimeWithin(past, { ...row, not_after: new Date(1.5 * dayMs) }, 0.5).getTime(), dayMs / 2)
})

test('an owner of many domains is warned of each, on the same day', async () => {
  const row = {
    ...(await rowOf(app, await issued())),
    warnings: 0,
    not_before: new Date(0),
    not_after: new Date(clock.now().getTime() + dayMs),
  }
  const hosts = Array.from({ length: 30 }, (_, n) => `many${n}.example.com`)
  await database.transaction(async (tx) => {
    for (const host of hosts) assert.equal(await warnOfExpiry(app.services, tx, { ...row, host }), 2)
  })
  for (const host of hosts) assert.equal((await toldOf(host)).length, 1, host)
})

test('warnings are due when a sixth, and when a thirtieth of its life is left', () => {
  const dates = { not_before: new Date(0), not_after: new Date(90 * dayMs) }
  const due = (day: number) => warningsDue(dates, new Date(day * dayMs))
  assert.deepEqual([due(1), due(74), due(76), due(86), due(88), due(95)], [0, 0, 1, 1, 2, 2])
})

test('what an owner has to change is looked for every minute, later less often', () => {
  const since = new Date(0)
  const waits = [0, 59, 61, 1_441].map((minutes) => {
    const now = new Date(minutes * 60_000)
    return (nextLook(since, now).getTime() - now.getTime()) / 60_000
  })
  assert.deepEqual(waits, [1, 1, 5, 15])
})

test('the time comes, and the certificate is replaced without a gap', async () => {
  const host = await issued()
  const first = await rowOf(app, host)
  assert.ok(daysUntil(first.renew_at) > 56 && daysUntil(first.renew_at) <= 60)
  app.clock.advance(50 * dayMs)
  await node().step()
  assert.equal(acme.orders.filter((one) => one.host === host).length, 1, 'not yet')
  app.clock.advance(11 * dayMs)
  const tending = node()
  await tending.step()
  const under = await rowOf(app, host)
  assert.deepEqual([under.step, under.chain], ['ordered', first.chain], 'the old one is served meanwhile')
  const second = await drive(host, (row) => isIssued(row) && row.chain !== first.chain, tending)
  assert.ok(daysUntil(second.renew_at) > 56)
  assert.notDeepEqual(second.private_key, first.private_key)
  assert.deepEqual(await toldOf(host), [])
})

test('the authority may want it sooner, and learns what is replaced', async () => {
  const host = await issued()
  const first = await rowOf(app, host)
  acme.settings.renewalWindow = { start: new Date(clock.now().getTime() + 2 * dayMs), end: new Date(clock.now().getTime() + 3 * dayMs) }
  app.clock.advance(2 * 60 * 60_000)
  await node().step()
  const told = await rowOf(app, host)
  assert.ok(told.renew_at! >= acme.settings.renewalWindow.start && told.renew_at! <= acme.settings.renewalWindow.end)
  assert.equal(Math.round(daysUntil(told.due_at) * 24), 6, 'asked again when it says so')
  app.clock.advance(3 * dayMs)
  await drive(host, (row) => isIssued(row) && row.chain !== first.chain)
  assert.equal(acme.orders.at(-1)?.replaces, renewalId(first.chain!))

  // Somebody has replaced it before: then it is an order like any other.
  const second = await rowOf(app, host)
  await database.run`update certificates set renew_at = ${clock.now()}, due_at = ${clock.now()} where host = ${host}`
  acme.faults = [{ kind: 'new order', fault: { status: 409, type: 'alreadyReplaced' } }]
  await drive(host, (row) => isIssued(row) && row.chain !== second.chain)
  assert.equal(acme.orders.at(-1)?.replaces, undefined)

  acme.faults = [{ kind: 'renewal', fault: { status: 404, type: 'malformed' } }]
  app.clock.advance(dayMs)
  await node().step()
  const third = await rowOf(app, host)
  assert.deepEqual([third.failures, third.troubles, third.problem], [0, 0, null], 'an answer that does not come changes nothing')
  acme.settings.renewalWindow = null
})

test('a host that has left is not renewed; its owner is told before the end, twice', async () => {
  const host = await issued()
  dns.names[host] = { A: ['192.0.2.99'] }
  const orders = acme.orders.length
  const lookAfter = async (days: number) => {
    app.clock.advance(days * dayMs)
    await node().step()
  }
  await lookAfter(61)
  const row = await rowOf(app, host)
  assert.equal(row.problem, `${host} leads to 192.0.2.99, and not to ${target}.`)
  assert.deepEqual(await toldOf(host), [])
  await lookAfter(15)
  await lookAfter(1)
  const [first, ...more] = await toldOf(host)
  assert.deepEqual(more, [])
  assert.match(first?.text ?? '', new RegExp(`could not be renewed so far.*${host}`))
  assert.match(first?.text ?? '', /leads to 192\.0\.2\.99/)
  await lookAfter(11)
  await lookAfter(1)
  assert.equal((await toldOf(host)).length, 2)
  assert.equal(acme.orders.length, orders)

  dns.names[host] = { CNAME: target }
  app.clock.advance(60 * 60_000)
  const renewed = await drive(host, (one) => isIssued(one) && one.chain !== row.chain)
  assert.deepEqual([renewed.warnings, renewed.problem], [0, null])
})
