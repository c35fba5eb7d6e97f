import assert from 'node:assert/strict'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { withClient } from '../server/database/with-client.ts'
import { startProgram, temporaryFolder } from './support/command-line.ts'
import { cloneDatabase } from './support/database.ts'
import { urlOf } from './support/empty-database.ts'
import { freePort } from './support/free-port.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** The program as most people run it, every role in one process: there the sender has a thread of its own. */
const peer = await startSmtpPeer()
after(() => peer.close())
const { connection, drop } = await cloneDatabase()
after(drop)
const folder = temporaryFolder()
const sabotage = join(folder, 'sabotage')
const port = await freePort()
const key = 'sk_threadtestthreadtestthreadtest'
const metricsToken = 'a-token-for-numbers'
const rate = 400
const { child, stop } = await startProgram({
  DATABASE_URL: urlOf(connection),
  DATA_DIR: folder,
  PORT: String(port),
  HOST: '127.0.0.1',
  OUTBOUND: `smtp://127.0.0.1:${peer.port}?connections=4&rate=${rate}`,
  BOOTSTRAP_API_KEY: key,
  RATE_LIMIT_PER_MINUTE: '1000000',
  LOG_LEVEL: 'error',
  METRICS_TOKEN: metricsToken,
  SABOTAGE: sabotage,
  NODE_OPTIONS: `--import=${new URL('./support/thread-saboteur.ts', import.meta.url).href}`,
})
let log = ''
child.stdout?.on('data', (chunk) => {
  log += chunk
})

const ask = async (method: string, path: string, body?: string, type = 'application/json') => {
  const headers = { authorization: `Bearer ${key}`, ...(body ? { 'content-type': type } : {}) }
  const answer = await fetch(`http://127.0.0.1:${port}/v1${path}`, { method, headers, body: body ?? null })
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`)
  return (await answer.json()) as { id: string; status: string; stats: { delivered: number } }
}
const query = (sql: string) => withClient(connection, async (client) => (await client.query(sql)).rows)

async function newPost(recipients: number): Promise<string> {
  const list = await ask('POST', '/lists', '{"name":"Threads"}')
  const rows = Array.from({ length: recipients }, (_, index) => `reader${index}@example.org,Reader ${index}\n`)
  await ask('POST', `/lists/${list.id}/subscribers/import`, `email,name\n${rows.join('')}`, 'text/csv')
  const post = await ask('POST', `/lists/${list.id}/posts`, '{"subject":"Hello {{ name }}","body_html":"<p>Dear {{ name }}</p>"}')
  return `/lists/${list.id}/posts/${post.id}`
}
const sentPost = (path: string) =>
  until(
    'the post to be sent',
    async () => {
      const post = await ask('GET', path)
      return post.status === 'sent' ? post : null
    },
    { withinMs: 60_000, everyMs: 50 },
  )
const countOf = (address: string) => peer.messages.filter(({ to }) => to.includes(address)).length

test('a broadcast and single mail leave through the thread, and its events reach the others at once', async () => {
  const path = await newPost(50)
  await ask('POST', `${path}/send`)
  const post = await sentPost(path)
  assert.equal(post.stats.delivered, 50)
  for (let index = 0; index < 50; index++) assert.equal(countOf(`reader${index}@example.org`), 1)
  const listId = path.split('/')[2]
  await ask('POST', `/lists/${listId}/subscribers`, '{"email":"new@example.com"}')
  await until('the mail that asks to confirm', () => countOf('new@example.com') === 1)
  await until('what the thread has sent to be counted', async () => {
    const numbers = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })
    return /^posthaste_mail_sent_total\{transport="smtp",outcome="delivered"\} 51$/m.test(await numbers.text())
  })
  assert.equal(log, '')
})

test('a thread that dies in the middle of a broadcast is replaced, and what was accepted is not sent again', async () => {
  peer.messages.length = 0
  const recipients = 1_200
  const path = await newPost(recipients)
  await ask('POST', `${path}/send`)
  await until('some to arrive', () => peer.messages.length > 200)
  writeFileSync(sabotage, '')
  await until('it to die', () => !existsSync(sabotage))
  assert.notEqual((await ask('GET', path)).status, 'sent', 'requests are answered meanwhile')
  const post = await sentPost(path)
  assert.equal(post.stats.delivered, recipients)
  const times = Array.from({ length: recipients }, (_, index) => countOf(`reader${index}@example.org`))
  assert.equal(Math.min(...times), 1, 'everybody has it')
  const repeated = times.filter((count) => count > 1).length
  assert.ok(repeated <= 8, `${repeated} came twice; two can be unanswered on each of four connections`)
  assert.deepEqual(await query(`select count(*)::int as count from events where type = 'post.delivered'`), [{ count: 2 }])
  assert.match(log, /the thread that sends mail has died and is started again/)
  assert.match(log, /sabotaged/)
  assert.equal(readdirSync(join(folder, 'journals')).length, 1, 'the journal of the dead was settled and thrown away')
})

test('a thread that turns in circles is noticed, told of and replaced', { timeout: 120_000 }, async () => {
  const readiness = async () => (await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()) as { status: string; trouble?: string }
  assert.deepEqual(await readiness(), { status: 'ready' })
  peer.messages.length = 0
  writeFileSync(sabotage, 'hang')
  await until('it to hang', () => !existsSync(sabotage))
  const path = await newPost(1)
  await ask('POST', `${path}/send`)
  const told = await until('the trouble to be told', async () => (await readiness()).trouble, { withinMs: 30_000, everyMs: 200 })
  assert.match(told, /the thread that sends it does not answer/)
  await until('its end', () => /the thread that sends mail hangs and is ended/.test(log), { withinMs: 60_000, everyMs: 200 })
  assert.equal((await sentPost(path)).stats.delivered, 1)
  assert.equal(countOf('reader0@example.org'), 1)
  assert.deepEqual(await readiness(), { status: 'ready' })
})

test('told to stop, it settles what is on the way', async () => {
  peer.messages.length = 0
  const path = await newPost(1_000)
  await ask('POST', `${path}/send`)
  await until('some to arrive', () => peer.messages.length > 100)
  await stop()
  assert.equal(child.exitCode, 0)
  const rows = await query(
    `select d.status, count(*)::int as count from deliveries d join broadcasts b on b.project_id = d.project_id and b.id = d.broadcast_id
     where b.status = 'sending' group by d.status`,
  )
  const counts = Object.fromEntries(rows.map((row) => [row.status, row.count]))
  assert.deepEqual(counts, { delivered: peer.messages.length, queued: 1_000 - peer.messages.length })
  assert.deepEqual(readdirSync(join(folder, 'journals')), [])
})
