import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { isIssued, order, startDriven } from '../../../tests/support/certificates.ts'
import { forgetCertificate, giveUpAuthorization } from './index.ts'

const { app, acme, dns, target, drive } = await startDriven()
const { database } = app.services
const [first, second] = [await app.newProject(), await app.newProject()]
let count = 0
const newHost = () => `left${++count}.example.com`
const want = (project: typeof first, host: string, challenge: 'dns-01' | 'http-01' = 'dns-01') =>
  order(app, { project_id: project.id, host, target, challenges: [challenge] })
const forget = (project: typeof first, host: string) =>
  database.transaction((tx) => forgetCertificate(app.services, tx, { project_id: project.id, host }))
const proofsOf = (host: string) => acme.orders.filter((one) => one.host === host).map(({ proof }) => proof)

type Left = Parameters<typeof giveUpAuthorization.run>[1]
const leftFor = async (host: string) =>
  (
    await database.many<{ data: Left }>`
      select data from jobs.job where name = ${giveUpAuthorization.name} and data->>'host' = ${host} order by created_on`
  ).map(({ data }) => data)
/** What the scheduler would do. */
const giveUp = async (host: string) => {
  for (const left of await leftFor(host)) await giveUpAuthorization.run(app.services, left)
}

async function issued(host: string): Promise<void> {
  await want(first, host)
  const { ordered } = await drive(host, ({ step }) => step === 'proving')
  dns.names[`_acme-challenge.${host}`] = { TXT: [ordered!.dns!.value] }
  await drive(host, isIssued)
}

beforeEach(async () => {
  acme.faults = []
  acme.settings.reuse = 'until deactivated'
  await database.run`delete from certificates`
})

test('what was proved for a certificate that is forgotten is given up at the authority, and what was to be proved as well', async () => {
  const [proved, open] = [newHost(), newHost()]
  await issued(proved)
  await want(first, open)
  await drive(open, ({ step }) => step === 'proving')
  for (const host of [proved, open]) {
    await forget(first, host)
    assert.equal((await leftFor(host)).length, 1)
    await giveUp(host)
    assert.deepEqual(proofsOf(host), ['deactivated'])
    // Once more changes nothing.
    await giveUp(host)
    assert.deepEqual(proofsOf(host), ['deactivated'])
  }
})

test('an order that another project takes the place of is given up', async () => {
  const host = newHost()
  await want(first, host)
  await drive(host, ({ step }) => step === 'proving')
  await want(second, host)
  await giveUp(host)
  assert.deepEqual(proofsOf(host), ['deactivated'])
})

test('what nobody has ordered leaves nothing, and what is ordered again meanwhile is left alone', async () => {
  const [none, again] = [newHost(), newHost()]
  await want(first, none)
  await forget(first, none)
  assert.deepEqual(await leftFor(none), [])

  acme.settings.reusesPending = true
  await want(first, again)
  await drive(again, ({ step }) => step === 'proving')
  await forget(first, again)
  await want(second, again)
  await drive(again, ({ step }) => step === 'ordered')
  await giveUp(again)
  assert.deepEqual(proofsOf(again), ['pending'], 'the new order rests on it, and gives it up by itself')
  acme.settings.reusesPending = false
})

test('an order that was being placed when its certificate was forgotten is given up', async () => {
  const host = newHost()
  await want(first, host)
  acme.settings.whileOrdering = () => forget(first, host)
  await drive(host, (row) => row === null)
  acme.settings.whileOrdering = null
  assert.deepEqual(proofsOf(host), ['pending'])
  await giveUp(host)
  assert.deepEqual(proofsOf(host), ['deactivated'])
})

test('an authority that is away is asked again; one that does not let go, or has forgotten, is not', async () => {
  const host = newHost()
  await issued(host)
  await forget(first, host)
  acme.faults = [{ kind: 'authorization', fault: 'drop' }]
  await assert.rejects(giveUp(host))
  acme.settings.reuse = 'always'
  await giveUp(host)
  assert.deepEqual(proofsOf(host), ['valid'])
  acme.orders.splice(0)
  await giveUp(host)
})
