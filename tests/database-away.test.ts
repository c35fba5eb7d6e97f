import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '../server/base/log.ts'
import { startEmbeddedServer } from '../server/database/embedded/index.ts'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import type { TestProject } from './support/project.ts'
import { mailsTo } from './support/received-mail.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'
import { createEndpoints, tellOf } from './support/webhooks.ts'

/**
 * The other side says yes, and the database is away in that moment: a process that lives knows it, and does nothing twice. A server of our
 * own, since the one that all tests share must not be touched.
 */
const skip = process.env.DATABASE_URL ? 'the server that DATABASE_URL names is not ours to stop' : false
const folder = mkdtempSync(join(tmpdir(), 'posthaste-away-'))
chmodSync(folder, 0o711)
const start = () => startEmbeddedServer({ dataDir: join(folder, 'data'), log: createLog('silent'), settings: { fsync: 'off' } })
const leaseSeconds = 5

/** Holds back answers until it is opened. */
function newGate() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, open: resolve, waiting: 0 }
}
let gate = newGate()

/** Two processes on two machines, so that one can take over what the other seems to have left. */
async function setUp() {
  const peer = await startSmtpPeer({
    // With it, a second mail would wait on the connection of the first.
    offers: { pipelining: false },
    atDot: () => {
      gate.waiting++
      return { heldUntil: gate.promise }
    },
  })
  const server = await start()
  const settings = { OUTBOUND: `smtp://127.0.0.1:${peer.port}`, LEASE_SECONDS: String(leaseSeconds), ALLOW_PRIVATE_WEBHOOKS: 'true' }
  const app = await startApp(settings, { connection: server.connection })
  const other = await startApp(
    { ...settings, ROLES: 'sender,consumers', DATA_DIR: join(folder, 'other') },
    { connection: server.connection, clock: app.clock },
  )
  return { peer, server, app, other, newEndpoint: await createEndpoints() }
}
// Told of before the programs tell of their own end, so that the server goes last, and goes even if they cannot be stopped.
after(async () => {
  gate.open()
  try {
    await Promise.all([app?.stop(), other?.stop()])
  } finally {
    await peer?.close()
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
const made = skip ? null : await setUp()
const { peer, app, other, newEndpoint } = made ?? ({} as NonNullable<typeof made>)
let server = made?.server

/** Begins something that makes at least `count` wait for an answer, and lets them have it while the database is away. */
async function answeredWhileAway(count: number, begin: () => Promise<unknown>, whileAway: () => Promise<unknown>): Promise<void> {
  gate = newGate()
  try {
    await begin()
    await until('the answers to be waited for', () => gate.waiting >= count)
    await server?.stop()
  } finally {
    gate.open()
  }
  try {
    await whileAway()
  } finally {
    server = await start()
  }
  await until('the database to be back', async () => (await fetch(`${app.url}/readyz`)).status === 200, { withinMs: 30_000 })
}
const arrived = (addresses: string[]) => addresses.map((address) => mailsTo(peer, address).length)
const untilArrived = (addresses: string[]) => until('all to arrive', () => arrived(addresses).every((count) => count > 0))
/** So long that everybody's leases are over when it comes back. */
const longerThanLeases = () => sleep((leaseSeconds + 1) * 1_000)

const sending = (project: TestProject, path: string, { body, key }: { body: object; key?: string }) =>
  project.request('POST', path, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) },
  })

async function newSender() {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', {})
  await project.events()
  return { project, mailbox }
}
const told = ['email.delivered', 'email.delivered', 'email.sent', 'email.sent']

test('a mail that was taken is 201, however long the database is away, and its key sends no second one', { skip }, async () => {
  const { project, mailbox } = await newSender()
  const addresses = ['receipt@example.org', 'answer@example.org']
  const send = () =>
    Promise.all([
      sending(project, '/emails', { body: { from: mailbox.address, to: addresses[0], subject: 'x', text: 'x' }, key: 'one' }),
      sending(project, `/mailboxes/${mailbox.id}/emails`, { body: { to_address: addresses[1], subject: 'x', text_body: 'x' }, key: 'two' }),
    ])
  let first: ReturnType<typeof send> | undefined
  await answeredWhileAway(
    2,
    async () => {
      first = send()
    },
    async () => {
      for (const { status, body } of (await first) ?? []) assert.deepEqual([status, body.status], [201, 'sent'], JSON.stringify(body))
    },
  )
  const ids = (await first)?.map(({ body }) => body.id)
  const again = await send()
  assert.deepEqual(
    again.map(({ status, body }) => [status, body.id, body.status]),
    ids?.map((id) => [200, id, 'sent']),
  )
  assert.deepEqual(arrived(addresses), [1, 1])
  assert.deepEqual((await project.events()).sort(), told)
  const counted = await app.services.database.first<object>`
    select email_count, last_position from mailboxes where project_id = ${project.id}`
  assert.deepEqual({ ...counted }, { email_count: 2, last_position: 2 })
})

test('a database that is back in time is not noticed by who sends without a key', { skip }, async () => {
  const { project, mailbox } = await newSender()
  const addresses = ['ann@example.org', 'bob@example.org']
  let answers: Promise<{ status: number }[]> | undefined
  await answeredWhileAway(
    2,
    async () => {
      const mails = addresses.map((to) => ({ from: mailbox.address, to, subject: 'x', text: 'x' }))
      answers = Promise.all(mails.map((body) => sending(project, '/emails', { body })))
    },
    () => untilArrived(addresses),
  )
  assert.deepEqual(
    (await answers)?.map(({ status }) => status),
    [201, 201],
  )
  assert.deepEqual(arrived(addresses), [1, 1])
  assert.deepEqual((await project.events()).sort(), told)
})

test('a queued mail that was taken does not go out again, though its lease ran out', { skip }, async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Steady' })
  const addresses = ['carol@example.org']
  await answeredWhileAway(
    1,
    () => project.post(`/lists/${list.id}/subscribers`, { email: addresses[0] }),
    async () => {
      await untilArrived(addresses)
      await longerThanLeases()
    },
  )
  const [row] = await until('it to be settled', async () => {
    const rows = await app.services.database.many<object>`
      select status, attempts from messages where project_id = ${project.id} and settled_at is not null`
    return rows.length > 0 && rows
  })
  assert.deepEqual({ ...row }, { status: 'delivered', attempts: 1 })
  assert.deepEqual(arrived(addresses), [1])
})

test('the copies of a post that were taken do not go out again, though their leases ran out', { skip }, async () => {
  const { project, path } = await newPost(app, { subscribers: 4 })
  const addresses = [1, 2, 3, 4].map((number) => `reader-${number}@example.org`)
  await answeredWhileAway(
    1,
    () => project.post(`${path}/send`),
    async () => {
      await until('one to arrive', () => arrived(addresses).some((count) => count > 0))
      await longerThanLeases()
    },
  )
  await until('the post to be sent', async () => (await project.get(path)).body.status === 'sent')
  assert.deepEqual(arrived(addresses), [1, 1, 1, 1])
  assert.deepEqual(
    (await app.services.database.many<object>`select distinct status, attempts from deliveries where project_id = ${project.id}`).map(
      (row) => ({ ...row }),
    ),
    [{ status: 'delivered', attempts: 1 }],
  )
})

test('a webhook that was answered is not called again, though the lease of its queue ran out', { skip }, async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'contact_group.created')
  endpoint.reply = (response) => {
    gate.waiting++
    gate.promise.then(() => response.writeHead(204).end())
  }
  await answeredWhileAway(1, () => tellOf(app, project, 'once'), longerThanLeases)
  const [delivery] = await until('it to be settled', async () => {
    const deliveries = await endpoint.deliveries()
    return deliveries[0]?.status !== 'pending' && deliveries
  })
  assert.deepEqual([delivery.status, delivery.attempt], ['delivered', 1])
  assert.equal(endpoint.received().length, 1)
})
