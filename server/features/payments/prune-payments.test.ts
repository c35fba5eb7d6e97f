import assert from 'node:assert/strict'
import { test } from 'node:test'
import { challengesOf, sender, startPayable, useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import { prunePayments } from './index.ts'

const clock = createTestClock()
const app = await startApp({}, { clock })
const url = await startPayable(app)
const { database } = app.services
const day = 24 * 3_600_000

test('each goes in its own time: keys and challenges after a day, bookings after three months, payments after a year and a half', async () => {
  const project = await app.newProject()
  await useUp(app, project, 99)
  assert.equal((await sender(url, project).send({ count: 1 })).status, 202)
  assert.equal((await sender(url, project).send({ count: 1 })).status, 402)
  assert.equal((await sender(url, project).sendAndPay({ count: 1 })).status, 202)
  const declined = await sender(url, project).sendAndPay({ count: 1 }, 'spt_declined')
  assert.equal(declined.status, 402)
  await database.run`
    insert into idempotency_keys (project_id, key, operation, body_digest, created_at)
    values (${project.id}, 'one', 'first.send', 'sha-256=::', ${clock.now()})`
  const left = async () => ({
    challenges: (await challengesOf(app, project))
      .map(({ status }) => status)
      .sort()
      .join(' '),
    bookings: (await database.many`select 1 from usage_reservations where project_id = ${project.id}`).length,
    keys: (await database.many`select 1 from idempotency_keys where project_id = ${project.id}`).length,
  })
  const after = async (days: number) => {
    clock.advance(days * day)
    await prunePayments.run(app.services, {})
    return left()
  }
  assert.deepEqual(await after(0.9), { challenges: 'closed open open paid', bookings: 2, keys: 1 })
  assert.deepEqual(await after(0.2), { challenges: 'paid', bookings: 2, keys: 0 })
  assert.deepEqual(await after(88), { challenges: 'paid', bookings: 2, keys: 0 })
  assert.deepEqual(await after(2), { challenges: 'paid', bookings: 0, keys: 0 })
  assert.deepEqual(await after(440), { challenges: 'paid', bookings: 0, keys: 0 })
  assert.deepEqual(await after(30), { challenges: '', bookings: 0, keys: 0 })
})
