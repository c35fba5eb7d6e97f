import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp, type TestApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** Domains that have to wait, seen from the other end. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const OUTBOUND = `smtp://127.0.0.1:${peer.port}`
const limited = await startApp({ OUTBOUND, DOMAIN_LIMITS: 'slow.test=20/s,2; tight.test=1000/s,1' })
const free = await startApp({ OUTBOUND })

/** A post on its way to so many at each domain, those of the first domain first. */
async function sendTo(app: TestApp, readers: Record<string, number>) {
  peer.messages.length = 0
  const made = await newPost(app)
  const addresses = Object.entries(readers).flatMap(([domain, count]) => Array.from({ length: count }, (_, index) => `${index}@${domain}`))
  await made.project.request('POST', `/lists/${made.list.id}/subscribers/import`, {
    body: addresses.join('\n'),
    headers: { 'content-type': 'text/csv' },
  })
  assert.equal((await made.project.post(`${made.path}/send`)).status, 202)
  return made
}

const arrived = (domain: string) => peer.messages.filter(({ to }) => to[0]?.endsWith(`@${domain}`)).length
const untilSent = ({ project, path }: Awaited<ReturnType<typeof sendTo>>) =>
  until('the post to be sent', async () => (await project.get(path)).body.status === 'sent')

test('a limited domain never has more under way than it may, and the others are done while it waits', async () => {
  const begun = { 'slow.test': 0, 'tight.test': 0 }
  const most = { 'slow.test': 0, 'tight.test': 0 }
  atRcpt = ({ line }) => {
    const domain = /@((?:slow|tight)\.test)>/.exec(line)?.[1] as keyof typeof begun | undefined
    if (!domain) return undefined
    begun[domain]++
    most[domain] = Math.max(most[domain], begun[domain] - arrived(domain))
    return { delayMs: 5 }
  }
  const post = await sendTo(limited, { 'slow.test': 70, 'tight.test': 30, 'fast.test': 300 })
  await until('the fast ones', () => arrived('fast.test') === 300)
  const slowThen = arrived('slow.test')
  assert.ok(slowThen < 70, `${slowThen} slow ones had arrived`)
  await untilSent(post)
  atRcpt = () => undefined
  assert.deepEqual([arrived('slow.test'), arrived('tight.test'), arrived('fast.test')], [70, 30, 300])
  assert.equal(new Set(peer.messages.flatMap(({ to }) => to)).size, 400)
  assert.ok(most['slow.test'] <= 2 && most['tight.test'] <= 1, JSON.stringify(most))
  const attempts = await limited.services.database.many`select distinct attempts from deliveries where project_id = ${post.project.id}`
  assert.deepEqual(attempts, [{ attempts: 1 }])
  assert.deepEqual(await post.project.events().then((types) => types.filter((type) => type.startsWith('post.'))), [
    'post.sent',
    'post.delivered',
  ])
})

test('paused and aborted while a domain waits, the rest of it stays', async () => {
  const { project, path } = await sendTo(limited, { 'slow.test': 200, 'fast.test': 20 })
  await until('the fast ones', () => arrived('fast.test') === 20)
  await project.post(`${path}/pause`)
  await until('what is under way to be settled, and what waits to be given back', async () => {
    const open = await limited.services.database.first`select 1 from deliveries where project_id = ${project.id} and status = 'sending'`
    return open === null
  })
  const then = arrived('slow.test')
  assert.ok(then < 200)
  await project.post(`${path}/abort`)
  await until(
    'the end',
    async () => limited.services.database.first`
    select 1 from broadcasts where project_id = ${project.id} and finished_at is not null`,
  )
  assert.equal(arrived('slow.test'), then)
  const counts = await limited.services.database.first`select delivered, failed from broadcasts where project_id = ${project.id}`
  assert.deepEqual(counts, { delivered: then + 20, failed: 200 - then })
})

test('a domain that asks for less is left alone and tried by one, while the others go on; nothing is lost by it', async () => {
  let refused = 0
  let isRefusing = true
  atRcpt = ({ line }) => {
    if (!isRefusing || !line.includes('@busy.test')) return undefined
    refused++
    return '450 4.7.28 too many from you'
  }
  const post = await sendTo(free, { 'busy.test': 400, 'fast.test': 100 })
  await until('the others', () => arrived('fast.test') === 100)
  await until('the first answers to be settled', async () => {
    const settled = await free.services.database.first<{ count: number }>`
      select count(*) from deliveries where project_id = ${post.project.id} and status = 'queued' and smtp_code = 450`
    return settled?.count === refused
  })
  const before = refused
  assert.ok(before >= 5 && before < 400, `${before} were tried`)
  free.clock.advance(31_000)
  await until('one to be tried', () => refused === before + 1)
  await sleep(1_200)
  assert.equal(refused, before + 1)
  isRefusing = false
  free.clock.advance(61_000)
  await until('those that nobody had been asked about', () => arrived('busy.test') >= 400 - before - 1)
  free.clock.advance(10 * 60_000)
  await untilSent(post)
  atRcpt = () => undefined
  assert.equal(new Set(peer.messages.flatMap(({ to }) => to)).size, 500)
  assert.equal(peer.messages.length, 500)
})
