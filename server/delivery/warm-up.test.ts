import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newPost } from '../../tests/support/posts.ts'
import type { TestProject } from '../../tests/support/project.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from '../../tests/support/smtp-peer.ts'
import { until } from '../../tests/support/until.ts'
import { newId, type ProjectId } from '../base/ids.ts'
import { openDatabase } from '../database/database.ts'
import { startOfNextDay } from '../mail/warm-up-days.ts'
import { claimDeliveries } from './broadcast/claim.ts'
import { releaseLeases } from './broadcast/settle.ts'
import { startWarmUp } from './control.ts'
import { countSingleMail, createWarmUps } from './warm-up.ts'

/** Days pass by the clock of the program, all senders share it, and they stay in the first minutes of a day of UTC. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const OUTBOUND = `smtp://127.0.0.1:${peer.port}`
const app = await startApp({ OUTBOUND })
await startApp({ OUTBOUND, ROLES: 'sender' }, { connection: app.connection, clock: app.clock })
const { database } = app.services
const domain = 'posthaste.test'
const minuteMs = 60_000

const toNextDay = () => app.clock.advance(startOfNextDay(app.clock.now()).getTime() - app.clock.now().getTime() + minuteMs)

/** A post on a list of so many, of a project whose domain begins to warm up. */
async function warmingPost(subscribers: number, more: { project?: TestProject } = {}) {
  toNextDay()
  const made = await newPost(app, more)
  const csv = Array.from({ length: subscribers }, (_, index) => `reader-${index}@${made.list.subdomain}.example.org`).join('\n')
  const headers = { 'content-type': 'text/csv' }
  await made.project.request('POST', `/lists/${made.list.id}/subscribers/import`, { body: csv, headers })
  await database.transaction((tx) => startWarmUp(tx, { project_id: made.project.id, domain }))
  await made.project.events()
  peer.messages.length = 0
  return made
}

const warmUpIn = async (project: TestProject, path: string) => (await project.get(path)).body.broadcast?.warm_up
const untilSentToday = (project: TestProject, path: string, count: number) =>
  until(`${count} to be sent today`, async () => {
    const { delivered } = (await project.get(path)).body.stats
    const { sent_today } = (await warmUpIn(project, path)) ?? {}
    return sent_today === count ? { delivered } : null
  })
/** Whatever could still be claimed has been: the senders look every half a second. */
const quiet = async () => {
  const before = peer.messages.length
  await new Promise((resolve) => setTimeout(resolve, 1_200))
  assert.equal(peer.messages.length, before)
}
const addressees = () => peer.messages.flatMap(({ to }) => to)

test('a list over the ceiling is spread over days by two senders, visibly, and nobody gets it twice', async () => {
  const { project, path, list } = await warmingPost(700)
  assert.equal((await project.get(`/lists/${list.id}`)).body.warmup_status, 'warming')
  await project.post(`${path}/send`)
  await until('the first day’s', () => peer.messages.length === 200)
  await quiet()
  const firstDay = { ceiling: 200, sent_today: 200, continues_at: startOfNextDay(app.clock.now()).toISOString() }
  assert.deepEqual(await warmUpIn(project, path), firstDay)
  assert.equal((await project.get(path)).body.sending, true)

  toNextDay()
  await until('the second day’s', () => peer.messages.length === 600)
  await quiet()
  assert.deepEqual(
    [(await warmUpIn(project, path)).ceiling, (await warmUpIn(project, path)).sent_today, (await warmUpIn(project, path)).continues_at],
    [400, 400, startOfNextDay(app.clock.now()).toISOString()],
  )

  toNextDay()
  const sent = await until('the end', async () => {
    const { body } = await project.get(path)
    return body.status === 'sent' ? body : null
  })
  assert.deepEqual([sent.stats.delivered, sent.broadcast.warm_up], [700, null])
  assert.equal(new Set(addressees()).size, 700)
  assert.equal(peer.messages.length, 700)
  assert.deepEqual(await project.events(), ['post.sent', 'post.delivered'])
  assert.deepEqual(await database.many`select sent from warm_ups where project_id = ${project.id}`, [{ sent: 100 }])
})

test('a domain that has warmed up has no ceiling, and its lists say so', async () => {
  const { project, path, list } = await warmingPost(250)
  app.clock.advance(14 * 24 * 60 * minuteMs)
  assert.equal((await project.get(`/lists/${list.id}`)).body.warmup_status, 'complete')
  assert.equal((await project.get('/lists')).body[0].warmup_status, 'complete')
  await project.post(`${path}/send`)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.equal(peer.messages.length, 250)
  assert.equal((await warmUpIn(project, path)) ?? null, null)
})

test('what is to be tried again goes out under a ceiling that is reached, and is not counted twice', async () => {
  const { project, path } = await warmingPost(230)
  let refused = 0
  atRcpt = () => (refused++ < 10 ? '450 4.2.0 greylisted' : undefined)
  await project.post(`${path}/send`)
  await untilSentToday(project, path, 200)
  await until('the others of today', () => peer.messages.length === 190)
  // Only then is it known when they are due again.
  await until('ten to be put off', async () => {
    const { body } = await project.get(`${path}/deliveries?status=queued&limit=200`)
    return body.filter(({ attempts }: { attempts: number }) => attempts === 1).length === 10
  })
  app.clock.advance(3 * minuteMs)
  await until('those that were put off', () => peer.messages.length === 200)
  await quiet()
  assert.equal((await warmUpIn(project, path)).sent_today, 200)
  toNextDay()
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.equal(new Set(addressees()).size, 230)
  assert.equal(peer.messages.length, 230)
})

test('paused overnight, it goes on with the ceiling of the day on which it is resumed', async () => {
  const { project, path } = await warmingPost(650)
  await project.post(`${path}/send`)
  await until('the first day’s', () => peer.messages.length === 200)
  assert.equal((await project.post(`${path}/pause`)).status, 200)
  assert.equal((await warmUpIn(project, path)).sent_today, 200)
  toNextDay()
  await quiet()
  assert.equal((await project.post(`${path}/resume`)).status, 200)
  await until('the second day’s', () => peer.messages.length === 600)
  await quiet()
  toNextDay()
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.equal(new Set(addressees()).size, 650)
})

test('aborted on its way, what was claimed and not begun is there for another post of the day', async () => {
  const first = await warmingPost(300)
  const second = await newPost(app, { project: first.project })
  const csv = Array.from({ length: 200 }, (_, index) => `other-${index}@example.org`).join('\n')
  const headers = { 'content-type': 'text/csv' }
  await first.project.request('POST', `/lists/${second.list.id}/subscribers/import`, { body: csv, headers })
  atRcpt = () => ({ delayMs: 100 })
  await first.project.post(`${first.path}/send`)
  await until('all of today to be claimed', async () => {
    const row = await database.first<{ sent: number }>`select sent from warm_ups where project_id = ${first.project.id}`
    return row?.sent === 200
  })
  assert.equal((await first.project.post(`${first.path}/abort`)).status, 200)
  atRcpt = () => undefined
  const sentOfFirst = await until('the first to be over', async () => {
    const row = await database.first<{ delivered: number }>`
      select delivered from broadcasts where project_id = ${first.project.id} and status = 'aborted' and finished_at is not null`
    return row?.delivered
  })
  assert.ok(sentOfFirst < 200, `${sentOfFirst} of 200 had gone`)
  await first.project.post(`${second.path}/send`)
  await until('the ceiling', () => peer.messages.length === 200)
  await quiet()
  assert.equal((await warmUpIn(first.project, second.path)).sent_today, 200)
  toNextDay()
  await until('the end', async () => (await first.project.get(second.path)).body.status === 'sent')
  assert.equal(new Set(addressees()).size, sentOfFirst + 200)
})

test('single mail counts, and is not held; another project’s mail from the same domain does not count', async () => {
  const { project, path, list } = await warmingPost(200)
  const stranger = await app.newProject()
  const { body: mailbox } = await project.get(`/lists/${list.id}`)
  const send = () => project.post('/emails', { from: mailbox.mailbox_address, to: 'one@example.org', subject: 'Hi', text: 'Hi' })
  assert.equal((await send()).status, 201)
  await project.post(`${path}/send`)
  await until('the rest of the day’s', () => peer.messages.length === 200)
  await quiet()
  assert.equal((await send()).status, 201)
  assert.equal((await warmUpIn(project, path)).sent_today, 201)
  assert.deepEqual(await database.many`select 1 from warm_ups where project_id = ${stranger.id}`, [])
  toNextDay()
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
})

test('what a process that died had claimed and not begun is there again, also across midnight; what it had handed over is not', async () => {
  const { project } = await warmingPost(0)
  const [broadcast_id, node_id] = [newId<'brd'>(), newId()]
  await database.run`
    insert into broadcasts (project_id, id, list_id, post_id, status, source, from_domain, recipients, is_expanded, created_at)
    values (${project.id}, ${broadcast_id}, ${newId()}, ${newId()}, 'paused', '{}', ${domain}, 9, false, now())`
  const hold = (attempts: number, count: number) => database.run`
    insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, status, attempts, lease_owner, next_attempt_at)
    select ${project.id}, gen_random_uuid(), ${broadcast_id}, gen_random_uuid(), gen_random_uuid(), 'x@example.org', 'sending', ${attempts}, ${node_id},
      now() + interval '1 hour' from generate_series(1, ${count}::integer)`
  const sent = async () => (await database.first<{ sent: number }>`select sent from warm_ups where project_id = ${project.id}`)?.sent
  await hold(1, 7)
  await hold(2, 2)
  await database.run`update warm_ups set sent = 150 where project_id = ${project.id}`
  toNextDay()
  // Yesterday's 150 are history, but for the seven that are on their way now.
  await countSingleMail(database, { project_id: project.id, from: `news@${domain}`, now: app.clock.now() })
  assert.equal(await sent(), 8)
  assert.equal(await releaseLeases(database, node_id, app.clock.now()), 9)
  assert.equal(await sent(), 1)
})

test('a domain that waits does not hold up others', async () => {
  const waiting = await warmingPost(210)
  await waiting.project.post(`${waiting.path}/send`)
  await until('the first day’s', () => peer.messages.length === 200)
  const other = await newPost(app, { subscribers: 3 })
  await other.project.post(`${other.path}/send`)
  await until('the other post', async () => (await other.project.get(other.path)).body.status === 'sent')
  assert.equal((await waiting.project.get(waiting.path)).body.sending, true)
})

test('a broadcast that has to wait asks the database for nothing, and one without a new domain only now and then', async () => {
  const project = await app.newProject()
  await database.transaction((tx) => startWarmUp(tx, { project_id: project.id, domain }))
  await database.run`update warm_ups set sent = 200 where project_id = ${project.id}`
  let asked = 0
  const counting = new Proxy(database, {
    get(target, name) {
      if (['many', 'first', 'run', 'transaction'].includes(String(name))) asked++
      return Reflect.get(target, name)
    },
  })
  const warmUps = createWarmUps(counting)
  const claims: object[] = []
  const claim = async (_db: unknown, limits: object) => {
    claims.push(limits)
    return { wanted: [], taken: 0 }
  }
  const asking = { id: 'a' as never, project_id: project.id, from_domain: domain, now: app.clock.now(), limit: 500 }
  for (let round = 0; round < 50; round++) await warmUps.within(asking, claim)
  assert.deepEqual(claims, [{ limit: 500, isRetryOnly: true }])
  assert.equal(asked, 2)
  claims.length = 0
  const known = { ...asking, project_id: (await app.newProject()).id as ProjectId }
  for (let round = 0; round < 50; round++) await warmUps.within(known, claim)
  assert.deepEqual([claims.length, new Set(claims.map((one) => JSON.stringify(one))).size, asked], [50, 1, 3])
})

test('under a ceiling that is reached, retries are found without reading what waits, and without waiting for the domain', async () => {
  const { project } = await warmingPost(0)
  const [broadcast_id, list_id, dead] = [newId<'brd'>(), newId<'lst'>(), newId()]
  await database.run`update warm_ups set sent = 200 where project_id = ${project.id}`
  await database.run`
    insert into broadcasts (project_id, id, list_id, post_id, status, source, from_domain, recipients, is_expanded, created_at)
    values (${project.id}, ${broadcast_id}, ${list_id}, ${newId()}, 'paused', '{}', ${domain}, 9, false, now())`
  const add = (count: number, { status = 'queued', attempts = 0, due = '-1 minute' }) => database.run`
    insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, status, attempts, lease_owner, next_attempt_at)
    select ${project.id}, gen_random_uuid(), ${broadcast_id}, gen_random_uuid(), gen_random_uuid(), 'x@example.org', ${status}, ${attempts},
      ${status === 'sending' ? dead : null}, now() + ${due}::interval from generate_series(1, ${count}::integer)`
  await add(30_000, {})
  await add(4, { attempts: 1, due: '1 year' })
  await add(5, { attempts: 1, status: 'sending', due: '1 hour' })
  await database.run`analyze deliveries`

  // One session, which counts what it reads.
  const alone = openDatabase({ connection: app.connection, clock: app.clock, log: app.services.log, poolSize: 1 })
  const rowsRead = async () => {
    await alone.run`select pg_stat_force_next_flush()`
    const read = await database.first<{ rows: number }>`
      select seq_tup_read + idx_tup_fetch as rows from pg_stat_user_tables where relname = 'deliveries'`
    return read?.rows ?? 0
  }
  const claimDue = async () => {
    await add(3, { attempts: 2 })
    await add(2, { attempts: 1, status: 'sending' })
    const before = await rowsRead()
    const lessee = { node_id: newId(), now: app.clock.now(), lease_ms: minuteMs, takes_over: true }
    const broadcast = { project_id: project.id, id: broadcast_id, list_id, uses_contact: false, from_domain: domain }
    const { taken } = await database.transaction(async (tx) => {
      await tx.run`select 1 from warm_ups where project_id = ${project.id} for update`
      return claimDeliveries(createWarmUps(alone), broadcast, lessee, 500)
    })
    assert.equal(taken, 5)
    return (await rowsRead()) - before
  }
  // Others are counted, too: a loop of the program may look through all of it in one of these moments.
  const read = Math.min(await claimDue(), await claimDue(), await claimDue())
  assert.ok(read < 1_000, `${read} rows were read for five`)
  await alone.close()
})
