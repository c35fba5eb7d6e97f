import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import {
  addRecords,
  loseSender,
  minuteMs,
  newSenderList,
  runDue,
  type SenderList,
  setUp,
  verifySender,
} from '../../../tests/support/senders.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http' })

const keysOf = async ({ project }: SenderList): Promise<string[]> => {
  const rows = await app.services.database.many<{ algorithm: string; status: string }>`
    select algorithm, status from dkim_keys where project_id = ${project.id} order by algorithm desc, status`
  return rows.map(({ algorithm, status }) => `${algorithm} ${status}`)
}

test('new keys wait for their records, and then take over by themselves', async () => {
  const list = await newSenderList(app)
  const before = await verifySender(dns, list)
  await list.project.events()
  const { status, body } = await list.project.post(`${list.path}/rotate`)
  assert.deepEqual([status, body.status], [200, 'verified'])
  assert.deepEqual(
    body.records.map(({ type, found }: { type: string; found: boolean }) => [type, found]),
    [
      ['TXT', true],
      ['TXT', false],
      ['TXT', true],
      ['TXT', false],
      ['CNAME', true],
      ['TXT', true],
    ],
  )
  assert.match(body.next_step, /^Add TXT ph\S+: mail is signed with the new key as soon as it is seen\./)
  // Once more makes no others.
  assert.deepEqual((await list.project.post(`${list.path}/rotate`)).body, body)
  app.clock.advance(minuteMs)
  await runDue(app)
  assert.deepEqual(await keysOf(list), ['rsa-sha256 active', 'rsa-sha256 pending', 'ed25519-sha256 active', 'ed25519-sha256 pending'])

  addRecords(dns, list.domain, body.records)
  app.clock.advance(5 * minuteMs)
  await runDue(app)
  assert.deepEqual(await keysOf(list), ['rsa-sha256 active', 'rsa-sha256 retired', 'ed25519-sha256 active', 'ed25519-sha256 retired'])
  const { records, next_step } = await list.get()
  assert.equal(records.length, before.length)
  assert.notEqual(records[0].name, before[0]?.name)
  assert.match(next_step, /^Nothing to do/)
  assert.deepEqual(await list.project.events(), [])
})

test('a domain that is lost while new keys wait is back when its records are as they were', async () => {
  const list = await newSenderList(app)
  const records = await verifySender(dns, list)
  await list.project.post(`${list.path}/rotate`)
  await loseSender(
    app,
    dns,
    records.filter(({ type }) => type === 'CNAME'),
  )
  const lost = await list.get()
  assert.deepEqual([lost.status, lost.records.map(({ name }: { name: string }) => name)], ['failed', records.map(({ name }) => name)])
  addRecords(dns, list.domain, records)
  app.clock.advance(minuteMs)
  await runDue(app)
  assert.equal((await list.get()).status, 'verified')
  assert.deepEqual(await keysOf(list), ['rsa-sha256 active', 'ed25519-sha256 active'])
})

test('an optional key that is to be replaced goes with its record, and the new ones wait on', async () => {
  const list = await newSenderList(app)
  const records = await verifySender(dns, list)
  await list.project.post(`${list.path}/rotate`)
  delete dns.names[records[1]?.name as string]
  assert.equal((await list.check()).status, 'verified')
  assert.deepEqual(await keysOf(list), ['rsa-sha256 active', 'rsa-sha256 pending', 'ed25519-sha256 pending', 'ed25519-sha256 retired'])
})

test('an optional record that is gone takes its signature with it, and nothing else', async () => {
  const list = await newSenderList(app)
  const records = await verifySender(dns, list)
  delete dns.names[records[1]?.name as string]
  assert.equal((await list.check()).status, 'verified')
  assert.deepEqual(await keysOf(list), ['rsa-sha256 active', 'ed25519-sha256 pending'])
  addRecords(dns, list.domain, records)
  await list.check()
  assert.deepEqual(await keysOf(list), ['rsa-sha256 active', 'ed25519-sha256 active'])
})

test('without a verified domain there is nothing to rotate', async () => {
  const list = await newSenderList(app)
  for (const prepare of [async () => {}, () => setUp(list)]) {
    await prepare()
    await list.project.events()
    const { status, body } = await list.project.post(`${list.path}/rotate`)
    assert.deepEqual([status, body.error.code], [422, 'validation_error'])
    assert.match(body.error.message, /^sender: has no verified domain/)
    assert.deepEqual(await list.project.events(), [])
  }
})
