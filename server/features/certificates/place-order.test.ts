import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { beforeEach, test } from 'node:test'
import { isIssued, order, rowOf, startDriven } from '../../../tests/support/certificates.ts'
import { claimDue, saveTurn } from './certificate-queries.ts'
import { checkCertificate, findCertificate, forgetCertificate } from './index.ts'

const { app, acme, dns, target, drive } = await startDriven()
const { database } = app.services
const [first, second] = [await app.newProject(), await app.newProject()]
const hourMs = 60 * 60_000
let count = 0
const newHost = () => `again${++count}.example.com`
const want = (project: typeof first, host: string, challenge: 'dns-01' | 'http-01' = 'dns-01') =>
  order(app, { project_id: project.id, host, target, challenges: [challenge] })
const forget = (project: typeof first, host: string) =>
  database.transaction((tx) => forgetCertificate(app.services, tx, { project_id: project.id, host }))
const view = (project: typeof first, host: string) => findCertificate(database, { project_id: project.id, host })
const ordersOf = (host: string) => acme.orders.filter((one) => one.host === host)
const addRecord = async (host: string) => {
  const { ordered } = await drive(host, ({ step }) => step === 'proving')
  dns.names[`_acme-challenge.${host}`] = { TXT: [ordered!.dns!.value] }
  return ordered!.dns!.value
}

/** Proved by the first project, and forgotten there. */
async function newProvedHost(): Promise<string> {
  const host = newHost()
  await want(first, host)
  await addRecord(host)
  await drive(host, isIssued)
  assert.equal((await view(first, host))?.is_proved, true)
  await forget(first, host)
  return host
}

beforeEach(async () => {
  acme.faults = []
  acme.settings.reuse = 'until deactivated'
  acme.settings.reusesPending = false
  await database.run`delete from certificates`
})

test('what one project has proved is no proof for another: it is given up, and the order is placed again', async () => {
  const host = await newProvedHost()
  const old = dns.names[`_acme-challenge.${host}`]?.TXT
  await want(second, host)
  const { ordered } = await drive(host, ({ step }) => step === 'proving')
  assert.notDeepEqual([ordered?.dns?.value], old)
  assert.deepEqual(
    ordersOf(host).map(({ proof }) => proof),
    ['deactivated', 'deactivated', 'pending'],
  )
  assert.equal((await view(second, host))?.is_proved, false)
  await addRecord(host)
  await drive(host, isIssued)
  assert.deepEqual([(await view(second, host))?.is_proved, ordersOf(host).length], [true, 3])
})

test('killed between giving up and ordering again, the next process orders', async () => {
  const host = await newProvedHost()
  await want(second, host)
  await drive(host, ({ step }) => step === 'ordered')
  acme.faults = [{ kind: 'new order', fault: 'drop' }]
  await drive(host, ({ step }) => step === 'proving')
  assert.deepEqual(
    ordersOf(host).map(({ proof }) => proof),
    ['deactivated', 'deactivated', 'pending'],
  )
})

test('an authority that does not let go of a proof issues, and nothing is proved', async () => {
  const host = await newProvedHost()
  acme.settings.reuse = 'always'
  await want(second, host)
  await drive(host, isIssued)
  const seen = await view(second, host)
  assert.deepEqual([seen?.status, seen?.is_proved, ordersOf(host).length], ['issued', false, 2])
})

test('what this project has proved is used again by its own next order, and by renewals', async () => {
  const host = newHost()
  await want(first, host)
  await addRecord(host)
  acme.faults = [{ kind: 'finalize', fault: { status: 400, type: 'badCSR', detail: 'Not like this' } }]
  const { is_proved, chain } = await drive(host, ({ failures }) => failures === 1)
  assert.deepEqual([is_proved, chain], [true, null])
  await database.transaction((tx) => checkCertificate(tx, { project_id: first.id, host }))
  await drive(host, isIssued)
  assert.deepEqual(
    ordersOf(host).map(({ proof }) => proof),
    ['valid', 'valid'],
  )
})

test('a certificate that passes to another project takes no proof with it, nor does one that is had by HTTP', async () => {
  const host = newHost()
  await want(first, host)
  await addRecord(host)
  await drive(host, isIssued)
  await want(first, host, 'http-01')
  assert.equal((await view(first, host))?.is_proved, true)
  await want(second, host, 'http-01')
  const seen = await view(second, host)
  assert.deepEqual([seen?.status, seen?.is_proved], ['issued', false])

  const other = newHost()
  dns.names[other] = { CNAME: target }
  await want(first, other, 'http-01')
  await drive(other, isIssued)
  assert.equal((await view(first, other))?.is_proved, false)
})

test('a step that was begun for a project which has lost the host since proves nothing for the next one', async () => {
  const host = newHost()
  await want(first, host, 'http-01')
  const owner = randomUUID()
  const [row] = await claimDue(database, { now: app.clock.now(), owner, leaseSeconds: 60, limit: 1 })
  assert.equal(row?.host, host)
  await want(second, host, 'http-01')
  await database.transaction((tx) => saveTurn(tx, { ...row!, is_proved: true }, owner))
  assert.equal((await rowOf(app, host)).is_proved, false)
})

test('five orders an hour are the bound for a host, however often its certificate is forgotten; and a hold is kept', async () => {
  acme.settings.reuse = 'never'
  const host = newHost()
  dns.names[host] = { CNAME: target }
  for (let times = 0; times < 5; times++) {
    await want(first, host, 'http-01')
    await drive(host, isIssued)
    await forget(first, host)
  }
  await want(first, host, 'http-01')
  await drive(
    host,
    ({ problem }) => problem === `No more certificates can be ordered for ${host} right now. The next order follows by itself.`,
  )
  assert.equal(ordersOf(host).length, 5)
  app.clock.advance(hourMs)
  await drive(host, isIssued)
  assert.equal(ordersOf(host).length, 6)

  const held = newHost()
  dns.names[held] = { CNAME: target }
  acme.faults = [{ kind: 'new order', fault: { status: 429, type: 'rateLimited', detail: 'Too many', retryAfter: '7200' } }]
  await want(first, held, 'http-01')
  const { held_until } = await drive(held, ({ troubles }) => troubles === 1)
  await forget(first, held)
  await want(first, held, 'http-01')
  const waiting = await drive(held, ({ problem }) => problem !== null)
  assert.deepEqual([waiting.due_at, ordersOf(held).length], [held_until, 0])
  app.clock.advance(2 * hourMs)
  await drive(held, isIssued)
  app.clock.advance(36 * 24 * hourMs)
  const last = newHost()
  dns.names[last] = { CNAME: target }
  await want(first, last, 'http-01')
  await drive(last, isIssued)
  assert.deepEqual(await database.many`select host from certificate_bounds`, [{ host: last }])
})

/** Ordered by the first project, which was told the value of a TXT record, and forgotten there. */
async function newToldHost(): Promise<{ host: string; told: string }> {
  const host = newHost()
  await want(first, host)
  const { ordered } = await drive(host, ({ step }) => step === 'proving')
  await forget(first, host)
  return { host, told: ordered!.dns!.value }
}

test('a value that one project was told is no proof for another: the order is given up while it is open, and placed again', async () => {
  acme.settings.reusesPending = true
  const { host, told } = await newToldHost()
  // Forgotten in the zone, or put there by whoever was told it.
  dns.names[`_acme-challenge.${host}`] = { TXT: [told] }
  app.clock.advance(6 * 24 * hourMs)
  await want(second, host)
  const { ordered, begun_at } = await drive(host, ({ step }) => step === 'proving')
  assert.notEqual(ordered?.dns?.value, told)
  assert.deepEqual([ordered?.isAnew, ordered?.refused, ordered?.isShared, begun_at.length], [true, told, undefined, 2])
  assert.deepEqual(
    ordersOf(host).map(({ proof }) => proof),
    ['deactivated', 'pending'],
  )
  assert.equal((await view(second, host))?.is_proved, false)
  await addRecord(host)
  await drive(host, isIssued)
  assert.equal((await view(second, host))?.is_proved, true)
})

test('killed between giving up an open order and placing another, the next process orders', async () => {
  acme.settings.reusesPending = true
  const { host, told } = await newToldHost()
  await want(second, host)
  await drive(host, ({ step }) => step === 'ordered')
  acme.faults = [{ kind: 'new order', fault: 'drop' }]
  const { ordered } = await drive(host, ({ step }) => step === 'proving')
  assert.notEqual(ordered?.dns?.value, told)
  assert.deepEqual(
    ordersOf(host).map(({ proof }) => proof),
    ['deactivated', 'pending'],
  )
})

test('where the authority does not let go of an open order, the record that both were told shows nothing', async () => {
  acme.settings.reusesPending = true
  const { host, told } = await newToldHost()
  acme.settings.reuse = 'always'
  await want(second, host)
  assert.equal(await addRecord(host), told)
  await drive(host, isIssued)
  const seen = await view(second, host)
  assert.deepEqual([seen?.status, seen?.is_proved, ordersOf(host).length], ['issued', false, 1])
})

test('the first who orders a host, and whoever orders once more for the same certificate, give nothing up', async () => {
  acme.settings.reusesPending = true
  const host = newHost()
  await want(first, host)
  await drive(host, ({ step }) => step === 'proving')
  app.clock.advance(8 * 24 * hourMs)
  await drive(host, ({ begun_at, step }) => begun_at.length === 2 && step === 'proving')
  assert.deepEqual(
    ordersOf(host).map(({ proof }) => proof),
    ['pending', 'pending'],
  )
  await addRecord(host)
  await drive(host, isIssued)
  assert.equal((await view(first, host))?.is_proved, true)
})
