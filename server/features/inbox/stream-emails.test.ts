import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileElsewhere, newMailbox, type TestMailbox } from '../../../tests/support/mailbox.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'

const app = await startApp()

interface StreamEvent {
  id: string
  event: string
  data: { subject: string; id: string }
}

/** A client of the stream, as an EventSource is one. */
async function follow(
  box: TestMailbox,
  { lastEventId, key = box.project.key, query = '' }: { lastEventId?: string; key?: string; query?: string } = {},
) {
  const leaving = new AbortController()
  const response = await fetch(`${app.url}/v1${box.path(`/stream${query}`)}`, {
    headers: { authorization: `Bearer ${key}`, ...(lastEventId ? { 'last-event-id': lastEventId } : {}) },
    signal: leaving.signal,
  })
  const seen = {
    status: response.status,
    headers: response.headers,
    events: [] as StreamEvent[],
    text: '',
    isOver: false,
    leave: () => leaving.abort(),
  }
  const read = async () => {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      seen.text += Buffer.from(chunk).toString()
      seen.events = seen.text
        .split('\n\n')
        .filter((block) => block.startsWith('id: '))
        .map((block) => /^id: (?<id>\d+)\nevent: (?<event>\S+)\ndata: (?<data>[^\n]*)$/.exec(block)?.groups as Record<string, string>)
        .map(({ id, event, data }) => ({ id, event, data: JSON.parse(data as string) }) as StreamEvent)
    }
  }
  void read()
    .catch(() => {})
    .finally(() => {
      seen.isOver = true
    })
  return seen
}

const told = ({ events }: { events: StreamEvent[] }) => events.map(({ event, data }) => [event, data.subject])

test('what is received and sent is told as it happens, from this process and others', async () => {
  const box = await newMailbox(app)
  await box.receive({ subject: 'Before' })
  const stream = await follow(box)
  assert.equal(stream.status, 200)
  assert.match(stream.headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.match(stream.headers.get('x-ratelimit-limit') ?? '', /^\d+$/)
  await until('the beginning', () => stream.text.startsWith('retry: '))
  await fileElsewhere(app, box, 'In\u2028\ndata: x')
  await until('one', () => stream.events.length === 1)
  await box.project.post(box.path(), { to_address: 'ben@example.org', subject: 'Out', text_body: 'x' })
  await until('two', () => stream.events.length === 2)
  assert.deepEqual(
    stream.events.map(({ event }) => event),
    ['email.received', 'email.sent'],
  )
  const [received] = stream.events as [StreamEvent]
  const { body: summaries } = await box.project.get(box.path('?direction=inbound&limit=1'))
  assert.deepEqual(received.data, summaries[0])
  stream.leave()
})

test('who comes back with Last-Event-ID has missed nothing', async () => {
  const box = await newMailbox(app)
  const first = await follow(box)
  await until('the beginning', () => first.text !== '')
  await box.receive({ subject: '1' })
  await until('one', () => first.events.length === 1)
  first.leave()
  await box.receive({ subject: '2' })
  await box.receive({ subject: '3' })
  const second = await follow(box, { lastEventId: first.events[0]?.id as string })
  await until('the rest', () => second.events.length === 2)
  assert.deepEqual(told(second), [
    ['email.received', '2'],
    ['email.received', '3'],
  ])
  second.leave()
  const wrong = await box.project.request('GET', box.path('/stream'), { headers: { 'last-event-id': 'x' } })
  assert.deepEqual([wrong.status, wrong.body.error.code], [422, 'validation_error'])
})

test('a mailbox’s stream has nothing of another', async () => {
  const box = await newMailbox(app)
  const beside = await newMailbox(app, box.project)
  const stream = await follow(box)
  await until('the beginning', () => stream.text !== '')
  await beside.receive({ subject: 'Beside' })
  await box.receive({ subject: 'Here' })
  await until('one', () => stream.events.length === 1)
  assert.deepEqual(told(stream), [['email.received', 'Here']])
  stream.leave()
})

test('a stream ends when its time is over, when its key is taken back, and when the process stops', async () => {
  const box = await newMailbox(app)
  const short = await follow(box, { query: '?seconds=1' })
  await until('its end', () => short.isOver)

  const { body: token } = await box.project.post('/api/tokens', { name: 'short', scope: 'read' })
  const revoked = await follow(box, { key: token.key })
  await until('the beginning', () => revoked.text !== '')
  await box.project.delete(`/api/tokens/${token.id}`)
  await sleep(600)
  await box.receive({ subject: 'Secret' })
  await until('its end', () => revoked.isOver)
  assert.deepEqual(revoked.events, [])

  const stopped = await follow(box)
  await until('the beginning', () => stopped.text !== '')
  await app.stop()
  await until('its end', () => stopped.isOver, { withinMs: 8_000 })
})
