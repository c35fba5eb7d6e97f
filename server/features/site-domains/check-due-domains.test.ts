import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newDomainList, runDueSites } from '../../../tests/support/site-domains.ts'
import type { ProjectId } from '../../base/ids.ts'
import { claimDue } from './site-domain-queries.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http', SITE_TARGET: 'sites.ours.test' })
const { database } = app.services
const minuteMs = 60_000

test('of one project two domains at a time are taken, the longest overdue first, and none of a busy one', async () => {
  const project = await app.newProject()
  const ours: string[] = []
  for (let count = 0; count < 4; count++) {
    const list = await newDomainList(app, { project })
    await list.connect(list.sub)
    ours.push(list.sub)
    app.clock.advance(1_000)
  }
  const other = await newDomainList(app)
  await other.connect(other.sub)
  app.clock.advance(minuteMs)
  const now = app.clock.now()
  const claim = async (busy: ProjectId[] = []) => (await claimDue(database, { now, limit: 32, busy })).map(({ domain }) => domain).sort()
  assert.deepEqual(await claim([project.id as ProjectId]), [other.sub])
  assert.deepEqual(await claim(), ours.slice(0, 2).sort())
  assert.deepEqual(await claim(), ours.slice(2).sort())
  assert.deepEqual(await claim(), [])
})

test('a domain whose name servers are silent is asked ever less often, for a quarter of an hour at most', async () => {
  const list = await newDomainList(app)
  await list.connect(list.sub)
  dns.names[list.sub] = { fails: 'SERVFAIL' }
  const pauses: number[] = []
  for (let turn = 0; turn < 5; turn++) {
    app.clock.advance((pauses.at(-1) ?? 1) * minuteMs)
    await runDueSites(app)
    const row = await database.first<{ pause: number }>`
      select extract(epoch from next_check_at - last_checked_at) / 60 as pause from site_domains where project_id = ${list.project.id}`
    pauses.push(Number(row?.pause))
  }
  // What the machine itself takes in between counts, too.
  const isTwice = (pause: number, before = 0.5) => pause === 15 || pause >= 2 * before
  assert.ok(
    pauses.every((pause, turn) => isTwice(pause, pauses[turn - 1])),
    pauses.join(),
  )
  assert.equal(pauses.at(-1), 15)
})
