import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newPost } from '../../tests/support/posts.ts'
import { until } from '../../tests/support/until.ts'
import { newId } from '../base/ids.ts'
import { toStatement } from '../database/sql.ts'
import * as queries from '../metrics/queue-queries.ts'
import { createQueueReader } from '../metrics/read-queues.ts'

const token = 'a-token-of-the-monitor'
/** Nobody takes out of the queues what the tests put in. */
const app = await startApp({ METRICS_TOKEN: token, ROLES: 'http' })
const closed = await startApp({ ROLES: 'http' })

const ask = (url: string, authorization?: string) => fetch(`${url}/metrics`, authorization ? { headers: { authorization } } : {})

/** By name and labels, as they stand there. */
async function numbers(): Promise<Map<string, number>> {
  const answer = await ask(app.url, `Bearer ${token}`)
  assert.equal(answer.status, 200)
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

test('without METRICS_TOKEN there is nothing', async () => {
  for (const authorization of [undefined, `Bearer ${token}`]) assert.equal((await ask(closed.url, authorization)).status, 404)
})

test('whoever does not have the token learns nothing', async () => {
  const { key } = await app.newProject()
  for (const authorization of [undefined, 'Bearer', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, `Basic ${token}`, `Bearer ${key}`]) {
    const answer = await ask(app.url, authorization)
    assert.equal(answer.status, 401, authorization)
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer')
    assert.deepEqual(await answer.json(), {
      error: { code: 'unauthorized', message: 'METRICS_TOKEN is needed here. Send it as "Authorization: Bearer …".' },
    })
  }
})

test('the text is what Prometheus reads: every number has a help and a type before it, and none is there twice', async () => {
  const answer = await ask(app.url, `Bearer ${token}`)
  assert.equal(answer.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  assert.equal(answer.headers.get('cache-control'), 'no-store')
  const text = await answer.text()
  assert.ok(text.endsWith('\n'))
  const [seen, typed] = [new Set<string>(), new Set<string>()]
  for (const line of text.trimEnd().split('\n')) {
    const type = /^# TYPE ([a-z_0-9]+) (?:counter|gauge)$/.exec(line)?.[1]
    if (type) typed.add(type)
    if (line.startsWith('#')) continue
    const [, sample = '', name = ''] = /^(([a-z_0-9]+)(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})?) -?[0-9.e+-]+$/.exec(line) ?? []
    assert.notEqual(sample, '', line)
    assert.ok(typed.has(name), line)
    assert.ok(!seen.has(sample), line)
    seen.add(sample)
  }
})

test('it tells of the process, its disk and its requests', async () => {
  const requests = 'posthaste_http_requests_total{status="4xx"}'
  const before = (await numbers()).get(requests) ?? assert.fail()
  await fetch(`${app.url}/v1/nothing-here`)
  const after = await until('the request to be counted', async () => {
    const now = await numbers()
    return (now.get(requests) ?? 0) > before && now.has('posthaste_queue_waiting{queue="jobs"}') ? now : null
  })
  const of = (name: string) => after.get(name) ?? assert.fail(name)
  assert.ok(of('process_resident_memory_bytes') > 1e7)
  assert.ok(of('process_cpu_seconds_total') > 0)
  assert.ok(of('process_start_time_seconds') > 1.7e9)
  assert.ok(of('nodejs_eventloop_lag_p99_seconds') >= 0)
  assert.ok(of('posthaste_data_dir_free_bytes') <= of('posthaste_data_dir_size_bytes'))
  assert.equal(of('posthaste_trouble'), 0)
  assert.equal(of('posthaste_database_up'), 1)
  for (const queue of ['messages', 'deliveries', 'deliveries_sending', 'inbound_spool', 'webhook_deliveries', 'webhook_masses', 'jobs'])
    of(`posthaste_queue_waiting{queue="${queue}"}`)
})

test('what waits is counted where it waits, and its oldest is known', async () => {
  const { database, clock } = app.services
  const hourAgo = new Date(clock.now().getTime() - 3_600_000)
  const project = await app.newProject()
  const read = async () => new Map((await until('the queues to be read', createQueueReader(database))).map((queue) => [queue.queue, queue]))
  const before = await read()

  await database.run`
    insert into messages (project_id, id, kind, recipient, recipient_key, mail, created_at, next_attempt_at)
    values (${project.id}, ${newId()}, 'test', 'a@example.org', 'a@example.org', '{}', ${hourAgo}, ${hourAgo})`
  await database.run`
    insert into inbound_spool (id, received_at, peer, envelope_from, recipients, raw, next_attempt_at)
    values (${newId()}, ${hourAgo}, '{}', 'a@example.org', '{b@example.org}', '', ${hourAgo})`
  await database.run`
    insert into webhook_deliveries (project_id, webhook_id, id, event_id, event_type, next_at, created_at)
    select ${project.id}, ${newId()}, gen_random_uuid(), gen_random_uuid(), 'list.created', ${hourAgo}, ${hourAgo} from generate_series(1, 3)`
  const post = await newPost(app, { subscribers: 2 })
  assert.equal((await post.project.post(`${post.path}/send`)).status, 202)
  await database.run`insert into event_consumers (name, transaction_id) values ('test', pg_snapshot_xmin(pg_current_snapshot()))`
  await project.post('/lists', { name: 'One more' })

  const after = await read()
  const more = (queue: string) => (after.get(queue)?.waiting ?? 0) - (before.get(queue)?.waiting ?? 0)
  assert.deepEqual(['messages', 'inbound_spool', 'webhook_deliveries', 'deliveries'].map(more), [1, 1, 3, 2])
  for (const queue of ['messages', 'inbound_spool', 'webhook_deliveries']) assert.deepEqual(after.get(queue)?.oldest, hourAgo)
  for (const queue of ['messages', 'inbound_spool']) assert.deepEqual(after.get(queue)?.due, hourAgo)
  assert.ok(after.get('deliveries')?.oldest)
  assert.ok((after.get('consumer test')?.waiting ?? 0) >= 1)
})

test('each queue is read along an index of what waits, never through the whole table', async () => {
  const plans = await app.services.database.transaction(async (tx) => {
    // A small table is read whole because that is cheaper: what matters is that there is another way.
    for (const way of ['enable_seqscan', 'enable_bitmapscan', 'enable_sort']) await tx.client.query(`set local ${way} = off`)
    const explain = async (strings: TemplateStringsArray, ...values: unknown[]) => {
      const statement = toStatement(strings, values)
      const { rows } = await tx.client.query(`explain ${statement.text}`, statement.values)
      return [rows.map((row) => row['QUERY PLAN']).join('\n')] as never[]
    }
    const plans: unknown[] = []
    for (const read of Object.values(queries)) if (typeof read === 'function') plans.push(...(await read({ ...tx, many: explain })))
    return plans
  })
  assert.equal(plans.length, 7)
  for (const plan of plans) assert.doesNotMatch(String(plan), /Seq Scan on (?!event_consumers|webhook_masses)|Sort Key: (?!c\.name)/)
})
