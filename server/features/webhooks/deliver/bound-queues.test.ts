import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../../tests/support/project.ts'
import { tellOf } from '../../../../tests/support/webhooks.ts'
import { formatId, newId, type WebhookId } from '../../../base/ids.ts'
import { sealSecret } from '../sign-delivery.ts'
import { makeWebhookSecret } from '../webhook.ts'
import { boundWebhookQueues, endedByBound } from './bound-queues.ts'

/** Nobody sends here. */
const app = await startApp({ ROLES: 'http' })
const { database, secrets } = app.services
const hourMs = 3_600_000
const bound = () => boundWebhookQueues.run(app.services, {})

interface Queue {
  project: TestProject
  id: WebhookId
  /** So many wait since then, each for an attempt of its own. */
  wait(count: number, agoMs: number): Promise<void>
  states(): Promise<Record<string, number>>
  notices(): Promise<string[]>
}

async function newQueue(): Promise<Queue> {
  const project = await app.newProject()
  const id = newId<'whk'>()
  await database.run`
    insert into webhooks (project_id, id, url, events, secret, created_at, updated_at)
    values (${project.id}, ${id}, 'https://hooks.example.com/', array['contact_group.created'], ${sealSecret(secrets, id, makeWebhookSecret())}, now(), now())`
  await database.run`insert into webhook_queues (project_id, webhook_id, due_at) values (${project.id}, ${id}, now())`
  await tellOf(app, project, 'news')
  const wait = async (count: number, agoMs: number) => {
    const at = new Date(app.clock.now().getTime() - agoMs)
    await database.run`
      insert into webhook_deliveries (project_id, webhook_id, id, event_project_id, event_row_id, event_id, event_type, next_at, created_at)
      select ${project.id}, ${id}, (lpad(to_hex(${at.getTime()}::bigint), 12, '0') || '70008000' || lpad(to_hex(number), 12, '0'))::uuid,
        e.project_id, e.id, e.id, e.type, ${at}, ${at}
      from events e, generate_series(1, ${count}::integer) as number where e.project_id = ${project.id} and e.type = 'contact_group.created'`
  }
  return {
    project,
    id,
    wait,
    states: async () => {
      const counted = await database.many<{ state: string; count: number }>`
        select coalesce(error, status) as state, count(*) as count from webhook_deliveries where webhook_id = ${id} group by 1`
      return Object.fromEntries(counted.map(({ state, count }) => [state, count]))
    },
    notices: async () =>
      (
        await database.many<{ subject: string }>`
          select mail->>'subject' as subject from messages where kind = 'webhook_behind' and recipient = ${project.email}`
      ).map(({ subject }) => subject),
  }
}

test('beyond a hundred thousand, what has waited for a day has failed, its owner is told once, and it can be replayed', async () => {
  const queue = await newQueue()
  await queue.wait(7_500, 25 * hourMs)
  await queue.wait(99_999, hourMs)
  await bound()
  // Those that a process may have in hand are left alone, and so is the newest of the old: it is one of a hundred thousand.
  assert.deepEqual(await queue.states(), { pending: 101_000, [endedByBound]: 6_499 })
  assert.deepEqual(await queue.notices(), ['A webhook does not keep up'])

  await bound()
  assert.deepEqual(await queue.states(), { pending: 101_000, [endedByBound]: 6_499 })
  app.clock.advance(24 * hourMs)
  await queue.wait(50_000, 0)
  await bound()
  assert.deepEqual(await queue.states(), { pending: 101_000, [endedByBound]: 56_499 })
  assert.deepEqual(await queue.notices(), ['A webhook does not keep up'], 'nobody is told twice')

  const path = `/webhooks/${formatId('whk', queue.id)}/deliveries`
  const { body } = await queue.project.get(`${path}?status=failed&limit=1`)
  assert.deepEqual([body[0].status, body[0].error, body[0].attempt], ['failed', endedByBound, 0])
  const replayed = await queue.project.post(`${path}/${body[0].id}/replay`)
  assert.deepEqual([replayed.status, replayed.body.status, replayed.body.event_id], [202, 'pending', body[0].event_id])
})

test('what waits for less than a day waits on, however much it is; so does what is old, where it is little', async () => {
  const [burst, old] = [await newQueue(), await newQueue()]
  await burst.wait(110_000, 23 * hourMs)
  await old.wait(9_000, 20 * 24 * hourMs)
  await bound()
  assert.deepEqual([await burst.states(), await old.states()], [{ pending: 110_000 }, { pending: 9_000 }])
  assert.deepEqual([await burst.notices(), await old.notices()], [[], []])
})
