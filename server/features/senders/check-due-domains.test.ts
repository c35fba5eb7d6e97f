import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addRecords, hourMs, minuteMs, newSenderList, runDue, setUp, verifySender } from '../../../tests/support/senders.ts'
import type { ProjectId } from '../../base/ids.ts'
import { claimDue } from './sender-queries.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http' })
const { database } = app.services

test('a domain whose name servers are silent is asked ever less often, for a quarter of an hour at most', async () => {
  const list = await newSenderList(app)
  for (const { name } of await setUp(list)) dns.names[name] = { fails: 'SERVFAIL' }
  const pauses: number[] = []
  for (let turn = 0; turn < 5; turn++) {
    await runDue(app)
    const row = await database.first<{ pause: number }>`
      select extract(epoch from next_check_at - last_checked_at) / 60 as pause from sender_domains where project_id = ${list.project.id}`
    pauses.push(Number(row?.pause))
    app.clock.advance(Number(row?.pause) * minuteMs)
  }
  // What the machine itself takes in between counts, too.
  const isTwice = (pause: number, before = 0.5) => pause === 15 || pause >= 2 * before
  assert.ok(
    pauses.every((pause, turn) => isTwice(pause, pauses[turn - 1])),
    pauses.join(),
  )
  assert.deepEqual([pauses[0], pauses.at(-1)], [1, 15])
})

test('of one project two domains at a time are taken, the longest overdue first, and none of a busy one', async () => {
  const project = await app.newProject()
  const lists = []
  for (let count = 0; count < 4; count++) {
    const list = await newSenderList(app, { project })
    await setUp(list)
    lists.push(list.domain)
    app.clock.advance(1_000)
  }
  const other = await newSenderList(app)
  await setUp(other)
  const now = app.clock.now()
  // Only these are due.
  await database.run`
    update sender_domains set next_check_at = ${now}::timestamptz + interval '1 hour'
    where project_id <> all(${[project.id, other.project.id]}::uuid[])`
  const claim = async (busy: ProjectId[] = []) => (await claimDue(database, { now, limit: 32, busy })).map(({ domain }) => domain).sort()
  assert.deepEqual(await claim([project.id as ProjectId]), [other.domain])
  assert.deepEqual(await claim(), lists.slice(0, 2).sort())
  assert.deepEqual(await claim(), lists.slice(2).sort())
  assert.deepEqual(await claim(), [])
})

test('several domains that are due are looked at once, whoever asks', async () => {
  const lists = await Promise.all(Array.from({ length: 12 }, () => newSenderList(app)))
  for (const list of lists) await setUp(list)
  const before = dns.asked.length
  app.clock.advance(minuteMs)
  await Promise.all([runDue(app), runDue(app)])
  for (const { domain } of lists)
    assert.equal(dns.asked.slice(before).filter((question) => question === `CNAME bounce.${domain}`).length, 1, domain)
})

test('whoever has the zone decides which of two projects has the domain, as the one that waits is told', async () => {
  const first = await newSenderList(app)
  const ours = await verifySender(dns, first)
  const second = await newSenderList(app, { domain: first.domain })
  addRecords(dns, second.domain, await setUp(second))
  await runDue(app)
  app.clock.advance(73 * hourMs)
  await runDue(app)
  const wayOut = /another project on this server sends from \S+ It may let .* Or remove its DKIM records .* gone for a day/
  const waiting = await second.get()
  assert.equal(waiting.status, 'failed')
  assert.match(waiting.next_step, wayOut)
  const mail = await database.first<{ text: string }>`
    select mail->>'text' as text from messages where kind = 'sender_domain' and recipient = ${second.project.email}`
  assert.match(mail?.text ?? '', /^The DNS records of \S+ are right, but another/)
  assert.match(mail?.text ?? '', wayOut)
  for (const { name } of ours) if (name.includes('._domainkey.')) delete dns.names[name]
  for (const hours of [6, 1, 24, 1]) {
    app.clock.advance(hours * hourMs)
    await runDue(app)
  }
  assert.deepEqual([(await first.get()).status, (await second.get()).status], ['failed', 'verified'])
})
