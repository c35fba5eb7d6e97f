import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { Answer, TestProject } from '../../../tests/support/project.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'

/** A request that stood still for longer than its lease, and one that only seemed to. */
let atDot = Promise.resolve()
const peer = await startSmtpPeer({ atDot: () => ({ heldUntil: atDot }) })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services

async function newSender() {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', {})
  await project.events()
  peer.messages.length = 0
  const send = (subject: string): Promise<Answer> =>
    project.request('POST', '/emails', {
      body: JSON.stringify({ from: mailbox.address, to: 'ann@example.org', subject, text: 'x' }),
      headers: { 'content-type': 'application/json', 'idempotency-key': 'order-1' },
    })
  return { project, send }
}

const keyOf = ({ id }: TestProject) =>
  database.first<{ result_id: string | null }>`select result_id from idempotency_keys where project_id = ${id}`
const emailsOf = async ({ id }: TestProject) => (await database.many`select 1 from emails where project_id = ${id}`).length

/** Whoever sends looks for what stands against a mail: that waits, with the key in hand and nothing booked. */
async function standingStill(project: TestProject, send: () => Promise<Answer>, meanwhile: () => Promise<unknown>): Promise<Answer> {
  let answer: Promise<Answer> | undefined
  await database.transaction(async (tx) => {
    await tx.run`lock table suppressions in access exclusive mode`
    answer = send()
    await until('it to have the key', () => keyOf(project))
    await meanwhile()
  })
  return answer ?? assert.fail('nothing was sent')
}

test('a request whose key another one has taken books nothing and sends nothing', async () => {
  const { project, send } = await newSender()
  const { status, body } = await standingStill(
    project,
    () => send('Slept before'),
    () => database.run`update idempotency_keys set holder = gen_random_uuid() where project_id = ${project.id}`,
  )
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
  assert.match(body.error.message, /a repeat with the same Idempotency-Key took its place\. Nothing was sent/)
  assert.deepEqual([peer.messages.length, await emailsOf(project), await project.events()], [0, 0, []])
  assert.equal((await project.get('/usage')).body.emails_sent, 0)
  assert.deepEqual({ ...(await keyOf(project)) }, { result_id: null }, 'the key is that of the other one')
})

test('one that has booked, and slept, asks whether the key is still its own before it sends', async () => {
  const { project, send } = await newSender()
  // Another one takes it in the moment of the booking.
  await database.execute(`
    create function take_key() returns trigger language plpgsql as $$ begin
      update idempotency_keys set holder = gen_random_uuid() where project_id = new.project_id and new.subject = 'Slept after';
      return null; end $$;
    create trigger take_key after insert on emails for each row execute function take_key()`)
  const { status, body } = await standingStill(
    project,
    () => send('Slept after'),
    async () => app.clock.advance(4 * 60_000),
  )
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
  assert.deepEqual([peer.messages.length, await emailsOf(project), await project.events()], [0, 1, []])
})

test('one whose lease ran out while nobody could renew it, and who is heard of again, is waited for', async () => {
  const { project, send } = await newSender()
  const { promise, resolve } = Promise.withResolvers<void>()
  atDot = promise
  const first = send('Slow')
  await until('the mail to be on its way', () => peer.commands.includes('DATA'))
  // As a database leaves it that was away for minutes.
  await database.run`update idempotency_keys set lease_until = now() - interval '1 minute' where project_id = ${project.id}`
  const second = send('Slow')
  // Long enough for whoever would take it at once.
  await sleep(1_000)
  await database.run`update idempotency_keys set lease_until = now() + interval '3 minutes' where project_id = ${project.id}`
  resolve()
  const answers = await Promise.all([first, second])
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.id]),
    [
      [201, answers[0]?.body.id],
      [200, answers[0]?.body.id],
    ],
  )
  assert.equal(peer.messages.length, 1)
  assert.deepEqual(await project.events(), ['email.sent', 'email.delivered'])
})

test('a mail that was settled by one who died before the key was done is answered, and not sent again', async () => {
  const { project, send } = await newSender()
  const { body: record } = await send('Settled')
  await database.run`update idempotency_keys set lease_until = now(), holder = null where project_id = ${project.id}`
  const again = await send('Settled')
  assert.deepEqual([again.status, again.body.id], [200, record.id])
  assert.equal(peer.messages.length, 1)
  assert.equal((await send('Settled')).status, 200)
})
