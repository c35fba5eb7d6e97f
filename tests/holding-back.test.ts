import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../server/base/ids.ts'
import { startApp } from './support/posthaste.ts'
import { importReaders, newPost } from './support/posts.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** What was handed to the transport and waits there behind slow servers, when it must not go out any more. */
let delayMs = 0
const peer = await startSmtpPeer({ atDot: () => ({ delayMs }) })
test.after(() => peer.close())
const OUTBOUND = `smtp://127.0.0.1:${peer.port}`
const app = await startApp({ OUTBOUND, ROLES: 'http,consumers', LEASE_SECONDS: '2' })
const { database } = app.services
/** On each of five connections one whose dot is unanswered, and one whose envelope was sent along with it. */
const mostOnTheWire = 10

const startSender = () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'posthaste-holding-back-'))
  return startApp({ OUTBOUND, ROLES: 'sender', LEASE_SECONDS: '2', DATA_DIR }, { connection: app.connection, clock: app.clock })
}

async function sending(readers: number) {
  const made = await newPost(app)
  await importReaders(made.project, made.list.id, readers)
  peer.messages.length = 0
  assert.equal((await made.project.post(`${made.path}/send`)).status, 202)
  await until('the first to arrive', () => peer.messages.length > 0)
  return made
}
type Sending = Awaited<ReturnType<typeof sending>>

const statusesOf = async ({ project }: Sending) =>
  Object.fromEntries(
    (
      await database.many<{ status: string; count: number }>`
        select status || ' ' || attempts as status, count(*) from deliveries where project_id = ${project.id} group by 1`
    ).map(({ status, count }) => [status, count]),
  )
const untilSent = ({ project, path }: Sending) => until('the end', async () => (await project.get(path)).body.status === 'sent')
const assertOnceEach = (readers: number) =>
  assert.deepEqual(
    peer.messages.flatMap(({ to }) => to).sort(),
    Array.from({ length: readers }, (_, index) => `reader-${index + 1}@example.org`).sort(),
  )

test('a pause reaches what waits in the transport, which counts as no attempt; resumed, everybody gets it once', async () => {
  const sender = await startSender()
  delayMs = 400
  const made = await sending(120)
  assert.equal((await made.project.post(`${made.path}/pause`)).status, 200)
  const arrived = peer.messages.length
  const left = await until('all to be given back', async () => {
    const statuses = await statusesOf(made)
    return Object.keys(statuses).some((status) => status.startsWith('sending')) ? null : statuses
  })
  const more = peer.messages.length - arrived
  assert.ok(more <= mostOnTheWire, `${more} more arrived after the pause`)
  assert.deepEqual(left, { 'delivered 1': arrived + more, 'queued 0': 120 - arrived - more })
  delayMs = 0
  assert.equal((await made.project.post(`${made.path}/resume`)).status, 200)
  await untilSent(made)
  assertOnceEach(120)
  await sender.stop()
})

test('what others have taken in the meantime does not leave the transport', async () => {
  const sender = await startSender()
  delayMs = 400
  const made = await sending(60)
  // As it looks after a long sleep of this process.
  const taken = await database.run`
    update deliveries set lease_owner = ${newId()}, next_attempt_at = now() + interval '1 hour' where project_id = ${made.project.id} and status = 'sending'`
  // Leases are renewed four times in the life of one: two rounds on each connection until that is noticed, and two more on the wire.
  await sleep(4_000)
  assert.ok(taken > 40 && peer.messages.length < 60 - 2 * mostOnTheWire, `${taken} taken, ${peer.messages.length} arrived`)
  await sender.stop()
  await made.project.post(`${made.path}/abort`)
})

test('a sender that stops gives back what it has not begun and keeps what it has: nobody gets it twice', async () => {
  const first = await startSender()
  delayMs = 100
  const made = await sending(60)
  // Longer than a lease lasts.
  delayMs = 5_000
  const second = await startSender()
  const stopping = first.stop()
  delayMs = 4_000
  await stopping
  delayMs = 0
  await untilSent(made)
  assertOnceEach(60)
  await second.stop()
})
