import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '../server/base/log.ts'
import { startEmbeddedServer } from '../server/database/embedded/index.ts'
import { readPostmasterFile } from '../server/database/embedded/leftover.ts'
import { startApp } from './support/posthaste.ts'
import type { Answer } from './support/project.ts'
import { mailTo } from './support/received-mail.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** A database that goes away under load: a server of our own, since the one that all tests share must not be touched. */
const skip = process.env.DATABASE_URL ? 'the server that DATABASE_URL names is not ours to stop' : false
const folder = mkdtempSync(join(tmpdir(), 'posthaste-restart-'))
chmodSync(folder, 0o711)
const dataDir = join(folder, 'data')
const start = () => startEmbeddedServer({ dataDir, log: createLog('silent'), settings: { fsync: 'off' } })

/** Made before the tests are told of, not in a hook: what a hook starts ends with the hook. */
async function setUp() {
  let isAwake = false
  const peer = await startSmtpPeer({
    atRcpt: ({ line }) => {
      if (isAwake || !line.includes('waiting@')) return undefined
      isAwake = true
      return '450 4.2.0 come back later'
    },
  })
  const server = await start()
  const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` }, { connection: server.connection })
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Steady' })
  return { peer, server, app, project, list }
}
// Told of before the program tells of its own end, so that the server goes last, and goes even if the program cannot be stopped.
after(async () => {
  try {
    await app?.stop()
  } finally {
    await peer?.close()
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
const made = skip ? null : await setUp()
const { peer, app, project, list } = made ?? ({} as NonNullable<typeof made>)
let server = made?.server

interface Asked extends Answer {
  tookMs: number
  email: string | null
}

/** Three callers that never rest for long: they read, they write, and note what they were told. */
function startLoad() {
  const asked: Asked[] = []
  let isOver = false
  const caller = async (name: number) => {
    for (let index = 0; !isOver; index++) {
      const email = index % 2 ? `load-${name}-${index}-${Date.now()}@example.org` : null
      const began = performance.now()
      const answer = await (email
        ? project.post(`/lists/${list.id}/subscribers`, { email, verified: true })
        : project.get(`/lists/${list.id}/subscribers?limit=5`))
      asked.push({ ...answer, email, tookMs: performance.now() - began })
      await sleep(20)
    }
  }
  const callers = [1, 2, 3].map(caller)
  const stop = async () => {
    isOver = true
    await Promise.all(callers)
    return asked
  }
  return { asked, stop }
}

/** Every answer was the usual one, or said to come back; whoever was told "added" is there. */
async function assertHonest(asked: Asked[]): Promise<void> {
  assert.ok(asked.some((answer) => answer.status < 300))
  assert.ok(
    asked.some((answer) => answer.status === 503),
    'the outage was noticed',
  )
  for (const { status, headers, body, tookMs, email } of asked) {
    assert.ok(tookMs < 10_000, `an answer took ${Math.round(tookMs)} ms`)
    if (status === (email ? 201 : 200)) continue
    assert.equal(status, 503, JSON.stringify(body))
    assert.equal(body.error.code, 'service_unavailable')
    assert.match(headers.get('retry-after') ?? '', /^\d+$/)
    assert.match(headers.get('x-ratelimit-remaining') ?? '', /^\d+$/)
    assert.ok(!/postgres|ECONN|ENOENT|socket|terminat/i.test(body.error.message), body.error.message)
  }
  const rows = await app.services.database.many<{ email: string }>`select email from subscribers where project_id = ${project.id}`
  const kept = new Set(rows.map((row) => row.email))
  for (const { status, email } of asked) if (email && status === 201) assert.ok(kept.has(email), `${email} was added, and is gone`)
}

/** Who looks at a page is asked to come back, too, in words. */
async function assertPolitePages(): Promise<void> {
  for (const path of ['/account', '/account/team', '/sign-in']) {
    const headers = { accept: 'text/html', cookie: '__Host-session=whatever' }
    const answer = await fetch(app.url + path, { redirect: 'manual', headers })
    assert.equal(answer.status, 503, path)
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(await answer.text(), /<h1>Just a moment<\/h1><p>This cannot be shown just now\. Try again in a few seconds/)
  }
}

const isWell = async () => (await project.get('/lists')).status === 200 && (await fetch(`${app.url}/readyz`)).status === 200

/** The loops go on: a mail leaves, and an event reaches the activity feed without anybody looking. */
async function assertLoopsGoOn(email: string): Promise<void> {
  const { status, body } = await project.post(`/lists/${list.id}/subscribers`, { email })
  assert.equal(status, 201, JSON.stringify(body))
  await mailTo(peer, email)
  await until(
    'the consumer files it',
    () => app.services.database.first`select 1 from list_activity where project_id = ${project.id} and email = ${email}`,
  )
}

test('a server that is killed is back by itself, and so is the program', { skip }, async () => {
  const load = startLoad()
  await until('the load runs', () => load.asked.length > 20)
  const pid = readPostmasterFile(join(dataDir, 'postgres'))?.pid ?? assert.fail('no postmaster.pid')
  process.kill(pid, 'SIGKILL')
  await until('somebody notices', () => load.asked.some((answer) => answer.status === 503), { withinMs: 10_000 })
  await until('all is well again', isWell, { withinMs: 30_000, everyMs: 50 })
  const noticed = load.asked.length
  await until('the load goes on', () => load.asked.slice(noticed + 10).filter((answer) => answer.status < 300).length > 20)
  await assertHonest(await load.stop())
  await assertLoopsGoOn('after-kill@example.org')
})

test('a server that is away for a while is missed politely, and what waited goes out afterwards', { skip }, async () => {
  await project.post(`/lists/${list.id}/subscribers`, { email: 'waiting@example.org' })
  await until(
    'it is put off',
    () => app.services.database.first`select 1 from messages where recipient = 'waiting@example.org' and reason is not null`,
  )
  const load = startLoad()
  await until('the load runs', () => load.asked.length > 20)
  await server?.stop()
  await until('all callers notice', () => load.asked.slice(-3).every((answer) => answer.status === 503))
  await until('readiness is asked anew', async () => (await fetch(`${app.url}/readyz`)).status === 503)
  for (let looks = 0; looks < 5; looks++) {
    const ready = await fetch(`${app.url}/readyz`)
    assert.equal(ready.status, 503)
    assert.deepEqual(await ready.json(), { status: 'not ready', reason: 'the database cannot be reached' })
    assert.equal((await fetch(`${app.url}/healthz`)).status, 200)
    const page = await fetch(`${app.url}/confirm/${app.services.secrets.sign('confirm', Buffer.alloc(48))}`, { method: 'POST' })
    assert.equal(page.status, 503)
    await assertPolitePages()
    await sleep(300)
  }
  server = await start()
  assert.deepEqual(server.connection, app.connection)
  await until('all is well again', isWell, { withinMs: 30_000, everyMs: 50 })
  await assertHonest(await load.stop())
  app.clock.advance(3 * 60_000)
  await mailTo(peer, 'waiting@example.org')
  await assertLoopsGoOn('after-stop@example.org')
})
