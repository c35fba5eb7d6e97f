import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type EventStream, followEvents, staysAt } from '../../../tests/support/event-stream.ts'
import { newMailbox } from '../../../tests/support/mailbox.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, type MailboxId, newId, parseId } from '../../base/ids.ts'
import { setInterest, wantedEvents } from '../../events/interests.ts'
import { publish, publishBulk } from '../../events/publish.ts'

const app = await startApp()
const { database } = app.services

const follow = (project: TestProject, { query = '', lastEventId }: { query?: string; lastEventId?: string } = {}) =>
  followEvents({ url: app.url, key: project.key, query, ...(lastEventId === undefined ? {} : { lastEventId }) })
const tell = (project: TestProject, name: string) =>
  database.transaction((tx) => publish(tx, project.id, 'project.deleted', { project_id: project.id }).then(() => name))
const group = async (project: TestProject, name: string) => assert.equal((await project.post('/contact-groups', { name })).status, 201)
const namesIn = ({ events }: Pick<EventStream, 'events'>) => events.map(({ data }) => data.data.name)
const untilSeen = (stream: EventStream, count: number) =>
  until(`${count} events`, () => stream.events.length >= count, { withinMs: 15_000 })

/** A change of many things: one row that stands for as many events. */
const tellMany = (project: TestProject, count: number, more = '') =>
  database.transaction((tx) =>
    publishBulk(tx, project.id, 'contact_group.created', {
      template: { contact_group_id: '$0', name: '$1', more },
      rows: Array.from({ length: count }, (_, number) => [formatId('grp', newId()), `many ${number}`]),
    }),
  )

test('what happens from now on is told as it happens, in the form that webhooks have', async () => {
  const project = await app.newProject()
  await group(project, 'before')
  const stream = await follow(project)
  assert.equal(stream.status, 200)
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.equal(stream.headers.get('cache-control'), 'no-store')
  await project.events()
  await group(project, 'A\u2028data: x')
  await untilSeen(stream, 1)
  const [told] = stream.events
  const [published] = await project.eventsWithData()
  assert.deepEqual(
    { ...told?.data, created_at: null },
    { id: told?.id, type: 'contact_group.created', created_at: null, data: published?.data },
  )
  assert.equal(told?.event, 'contact_group.created')
  assert.match(told?.id ?? '', /^evt_/)
  assert.equal(new Date(told?.data.created_at).toISOString(), told?.data.created_at)
  stream.leave()
})

test('who comes back with Last-Event-ID, in the header or the query, missed nothing and hears nothing twice', async () => {
  const project = await app.newProject()
  const first = await follow(project)
  await group(project, '1')
  await untilSeen(first, 1)
  first.leave()
  for (const name of ['2', '3']) await group(project, name)
  const lastEventId = first.events[0]?.id as string
  for (const options of [{ lastEventId }, { query: `?last_event_id=${lastEventId}` }]) {
    const second = await follow(project, options)
    await untilSeen(second, 2)
    await group(project, `${options.query ?? 'header'}`.slice(0, 50))
    await untilSeen(second, 3)
    assert.deepEqual(namesIn(second).slice(0, 2), ['2', '3'])
    second.leave()
  }
})

test('an id that is not kept any more, or was never this project’s, is a gap; the stream goes on from now', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const theirs = await follow(other)
  await group(other, 'theirs')
  await untilSeen(theirs, 1)
  theirs.leave()
  await group(project, 'before')
  for (const lastEventId of [formatId('evt', newId()), theirs.events[0]?.id as string]) {
    const stream = await follow(project, { lastEventId })
    await untilSeen(stream, 1)
    assert.deepEqual(stream.events, [{ id: '', event: 'stream.gap', data: { last_event_id: lastEventId } }])
    await group(project, lastEventId)
    await untilSeen(stream, 2)
    assert.deepEqual(namesIn({ events: stream.events.slice(1) }), [lastEventId])
    stream.leave()
  }
})

test('what is no id, and what is no event, is refused in words', async () => {
  const project = await app.newProject()
  for (const [query, message] of [
    ['?last_event_id=x', /^last_event_id: is not the id of an event/],
    [`?last_event_id=${formatId('lst', newId())}`, /^last_event_id: is not the id of an event/],
    ['?types=post.sent,post.eaten', /^types: has no event called post\.eaten/],
    ['?types=,', /^types: must name at least one event/],
    ['?seconds=-1', /^seconds: /],
  ] as const) {
    const { status, body } = await project.get(`/events/stream${query}`)
    assert.deepEqual([status, body.error?.code], [422, 'validation_error'], query)
    assert.match(body.error.message, message)
  }
  const { body } = await project.request('GET', '/events/stream', { headers: { 'last-event-id': '7' } })
  assert.match(body.error.message, /^Last-Event-ID: /)
  assert.deepEqual(await project.events(), [])
})

test('a mailbox’s own key is refused, and one without the scope', async () => {
  const box = await newMailbox(app)
  const bound = await box.project.withKey(['read', 'send'], parseId('mbx', box.id) as MailboxId)
  for (const who of [bound, await box.project.withKey(['send'])]) {
    const { status, body } = await who.get('/events/stream')
    assert.deepEqual([status, body.error.code], [403, 'forbidden'])
  }
})

test('only the types that were asked for', async () => {
  const project = await app.newProject()
  const stream = await follow(project, { query: '?types=contact_group.deleted,%20list.created' })
  const { body } = await project.post('/contact-groups', { name: 'gone' })
  await project.delete(`/contact-groups/${body.id}`)
  await project.post('/lists', { name: 'L' })
  await untilSeen(stream, 2)
  assert.deepEqual(
    stream.events.map(({ event }) => event),
    ['contact_group.deleted', 'list.created'],
  )
  const again = await follow(project, { query: '?types=list.created', lastEventId: stream.events[0]?.id as string })
  await untilSeen(again, 1)
  assert.deepEqual(again.events, stream.events.slice(1))
  stream.leave()
  again.leave()
})

test('a project’s stream has nothing of another', async () => {
  const [mine, other] = [await app.newProject(), await app.newProject()]
  const streams = [await follow(mine), await follow(other)] as const
  await Promise.all(
    Array.from({ length: 20 }, (_, number) => group(number % 2 ? mine : other, `${number % 2 ? 'mine' : 'other'} ${number}`)),
  )
  await Promise.all(streams.map((stream) => untilSeen(stream, 10)))
  assert.ok(await staysAt(streams[0], 10))
  assert.ok(namesIn(streams[0]).every((name) => name.startsWith('mine')))
  assert.ok(namesIn(streams[1]).every((name) => name.startsWith('other')))
  for (const stream of streams) stream.leave()
})

test('exactly once, whatever commits in whatever order, for one who breaks off all the time', async () => {
  const project = await app.newProject()
  const seen: string[] = []
  let isWritten = false
  const first = await follow(project)
  const reading = (async () => {
    await untilSeen(first, 1)
    for (let stream = first; !isWritten; stream = await follow(project, { lastEventId: seen.at(-1) as string })) {
      await until('some', () => stream.events.length > 0 || isWritten)
      stream.leave()
      await until('its end', () => stream.isOver)
      seen.push(...stream.events.map(({ id }) => id))
    }
  })()
  // Each takes another while between its first event and its commit, so that they end in another order than they began.
  const writers = Array.from({ length: 10 }, async (_, writer) => {
    for (let number = 0; number < 10; number++)
      await database.transaction(async (tx) => {
        for (let event = 0; event < 3; event++) {
          await publish(tx, project.id, 'project.deleted', { project_id: project.id })
          await tx.run`select pg_sleep(${((writer * 7 + number * 3 + event) % 5) / 200})`
        }
      })
  })
  await Promise.all(writers)
  isWritten = true
  await reading
  const rest = await follow(project, { lastEventId: seen.at(-1) as string })
  await untilSeen(rest, 300 - seen.length)
  assert.ok(await staysAt(rest, 300 - seen.length))
  rest.leave()
  const published = await database.many<{ id: string }>`
    select id from events where project_id = ${project.id} order by transaction_id, position`
  assert.deepEqual(
    [...seen, ...rest.events.map(({ id }) => id)],
    published.map(({ id }) => formatId('evt', id)),
  )
})

test('what stands for many is told one by one, and taken up in the middle', async () => {
  const project = await app.newProject()
  const stream = await follow(project)
  await tellMany(project, 1_500)
  await tellMany(project, 7_000)
  await tell(project, 'last')
  await untilSeen(stream, 8_501)
  stream.leave()
  const ids = stream.events.map(({ id }) => id)
  assert.equal(new Set(ids).size, 8_501)
  assert.deepEqual(namesIn(stream).slice(1_498, 1_502), ['many 1498', 'many 1499', 'many 0', 'many 1'])
  for (const after of [0, 700, 1_499, 1_500, 8_498, 8_499]) {
    const again = await follow(project, { lastEventId: ids[after] as string })
    await untilSeen(again, 8_500 - after)
    assert.deepEqual(
      again.events.map(({ id }) => id),
      ids.slice(after + 1),
      `after ${after}`,
    )
    again.leave()
  }
})

test('a reader that does not read costs no memory, and has missed nothing when it does', async () => {
  const project = await app.newProject()
  const { hostname, port } = new URL(app.url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET /v1/events/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${project.key}\r\n\r\n`)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  await until('the stream to begin', () => text.includes('retry: '))
  socket.pause()
  // More than what is kept for it, and what sockets hold.
  for (let round = 0; round < 3; round++) await tellMany(project, 7_000, 'x'.repeat(1_000))
  await tell(project, 'last')
  await until('the others not to be held up', async () => {
    const beside = await follow(project)
    await group(project, `beside ${newId()}`)
    await untilSeen(beside, 1)
    beside.leave()
    return true
  })
  socket.resume()
  const ids = () => text.match(/^id: evt_.*$/gm) ?? []
  await until('all of it', () => text.includes('beside'), { withinMs: 30_000 })
  socket.destroy()
  assert.equal(ids().length, 21_002)
  assert.equal(new Set(ids()).size, 21_002)
})

test('over a restart: the stream ends at once, and goes on at another process', async () => {
  const project = await app.newProject()
  const other = await startApp({ ROLES: 'http' }, { connection: app.connection })
  const stream = await followEvents({ url: other.url, key: project.key })
  await group(project, '1')
  await untilSeen(stream, 1)
  const stopping = other.stop()
  await group(project, '2')
  await until('its end', () => stream.isOver, { withinMs: 8_000 })
  await stopping
  await group(project, '3')
  const again = await follow(project, { lastEventId: stream.events.at(-1)?.id as string })
  await until('the rest', () => stream.events.length + again.events.length === 3)
  assert.deepEqual([...namesIn(stream), ...namesIn(again)], ['1', '2', '3'])
  again.leave()
})

test('while a stream is open its types are wanted, and no longer', async () => {
  const project = await app.newProject()
  const wanted = async () => [...(await wantedEvents(database, project.id))].sort()
  const stream = await follow(project, { query: '?types=email.opened,email.sent' })
  await until('interest', async () => (await wanted()).join() === 'email.opened,email.sent')
  stream.leave()
  await until('no interest', async () => (await wanted()).length === 0)
  const rows = () => database.many`select 1 from event_interests where project_id = ${project.id}`
  await until('nothing to be left', async () => (await rows()).length === 0)
})

test('what a process wanted that died ends by itself', async () => {
  const project = await app.newProject()
  const interest = { project_id: project.id, consumer: 'stream:dead', types: ['email.sent'], lasts_seconds: 1 } as const
  await database.transaction((tx) => setInterest(tx, interest))
  await until('interest', async () => (await wantedEvents(database, project.id)).has('email.sent'))
  await until('its end', async () => !(await wantedEvents(database, project.id)).has('email.sent'))
})

test('a stream ends when its time is over, and when its key is taken back', async () => {
  const project = await app.newProject()
  const short = await follow(project, { query: '?seconds=1' })
  await until('its end', () => short.isOver)
  const { body: token } = await project.post('/api/tokens', { name: 'short', scope: 'read' })
  const revoked = await followEvents({ url: app.url, key: token.key })
  await project.delete(`/api/tokens/${token.id}`)
  const stranger = async () => (await fetch(`${app.url}/v1/lists`, { headers: { authorization: `Bearer ${token.key}` } })).status
  await until('the key to be forgotten', async () => (await stranger()) === 401)
  await group(project, 'secret')
  await until('its end', () => revoked.isOver)
  assert.deepEqual(revoked.events, [])
})

test('a stream ends when its key may no longer read', async () => {
  const project = await app.newProject()
  const { body: token } = await project.post('/api/tokens', { name: 'cut down', scope: 'read' })
  const stream = await followEvents({ url: app.url, key: token.key })
  await database.run`update api_keys set scopes = '{write}' where project_id = ${project.id} and name = 'cut down'`
  const status = async () => (await fetch(`${app.url}/v1/lists`, { headers: { authorization: `Bearer ${token.key}` } })).status
  await until('the scope to be gone', async () => (await status()) === 403)
  await group(project, 'secret')
  await until('its end', () => stream.isOver)
  assert.deepEqual(stream.events, [])
})

test('the client in docs/api.md works, also when the stream breaks off', async () => {
  const code = /## Live events.*?```js\n(.*?)```/s.exec(readFileSync('docs/api.md', 'utf8'))?.[1] ?? assert.fail('no example')
  const box = await newMailbox(app)
  const mine = code.replace('https://mail.example.com', app.url).replace('?types=', '?seconds=1&types=').replace('2000', '50')
  const client = spawn(process.execPath, ['--input-type=module', '-e', mine], { env: { ...process.env, KEY: box.project.key } })
  let printed = ''
  client.stdout.on('data', (chunk) => {
    printed += chunk.toString()
  })
  client.stderr.on('data', (chunk) => {
    printed += chunk.toString()
  })
  try {
    // The first that it hears is the first that came after it did.
    await until('it to listen', async () => (await box.receive({ subject: 'First' })) && printed.includes('First'), { withinMs: 15_000 })
    for (const subject of ['Second', 'Third']) {
      await box.receive({ subject })
      await until(subject, () => printed.includes(`subject: '${subject}'`), { withinMs: 15_000 })
      await sleep(1_100)
    }
    const ids = printed.match(/id: 'evt_\w+'/g) ?? []
    assert.equal(new Set(ids).size, ids.length, 'each is told once')
    assert.doesNotMatch(printed, /Error|stream\.gap/)
  } finally {
    client.kill()
  }
})

test('a key has twenty streams at a time', async () => {
  const project = await app.newProject()
  const streams = await Promise.all(Array.from({ length: 20 }, () => follow(project)))
  const refused = await project.get('/events/stream')
  assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited'])
  assert.equal(refused.headers.get('retry-after'), '5')
  assert.match(refused.body.error.message, /follows events in 20 requests/)
  const beside = await followEvents({ url: app.url, key: (await project.withKey(['read'])).key })
  assert.equal(beside.status, 200)
  await group(project, 'for all')
  await Promise.all([beside, ...streams].map((stream) => untilSeen(stream, 1)))
  for (const stream of [beside, ...streams]) stream.leave()
  await until('a place', async () => (await project.get('/events/stream?seconds=0')).status === 200)
})
