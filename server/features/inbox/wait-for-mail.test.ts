import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { accept, fileMail } from '../../../tests/support/inbound.ts'
import { fileElsewhere, newMailbox, type TestMailbox } from '../../../tests/support/mailbox.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { Answer } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { parseId } from '../../base/ids.ts'
import { withClient } from '../../database/with-client.ts'
import { formatCursor } from '../../operations/page.ts'
import { fileMessages } from '../filing/index.ts'

const app = await startApp()

const subjects = ({ body }: Answer) => body.map((email: { subject: string }) => email.subject)
const nextOf = ({ headers }: Answer) => /<[^>]*\/v1([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? assert.fail('no link')

/** A request that waits, and whether it has been answered. */
function waiting(asked: Promise<Answer>) {
  const state = { isAnswered: false, answer: asked }
  asked.then(
    () => {
      state.isAnswered = true
    },
    () => {},
  )
  return state
}

const fileHere = (box: TestMailbox, subject: string) => fileMail(app, { recipients: [box.address], subject })

test('a request that waits is answered when mail comes, filed here or by another process', async () => {
  for (const file of [fileHere, (box: TestMailbox, subject: string) => fileElsewhere(app, box, subject)]) {
    const box = await newMailbox(app)
    const asked = waiting(box.project.get(box.path('?wait=60')))
    await sleep(200)
    assert.equal(asked.isAnswered, false)
    await file(box, 'Code')
    await until('an answer', () => asked.isAnswered, { withinMs: 5_000 })
    const answer = await asked.answer
    assert.equal(answer.status, 200)
    assert.deepEqual(subjects(answer), ['Code'])
  }
})

test('other processes are told of what is filed here, and of what is sent', async () => {
  const box = await newMailbox(app)
  await withClient(app.connection, async (client) => {
    const heard: unknown[] = []
    client.on('notification', ({ payload }) => heard.push(payload))
    await client.query('listen mailboxes')
    await fileHere(box, 'In')
    await until('one', () => heard.length === 1)
    await box.project.post(box.path(), { to_address: 'ben@example.org', subject: 'Out', text_body: 'x' })
    await until('two', () => heard.length === 2)
    assert.deepEqual(new Set(heard), new Set([parseId('mbx', box.id)]))
  })
})

test('what came a moment before is not missed; the link waits for what comes after it', async () => {
  const box = await newMailbox(app)
  await fileHere(box, 'Early')
  const first = await box.project.get(box.path('?wait=60'))
  assert.deepEqual(subjects(first), ['Early'])
  const second = waiting(box.project.get(nextOf(first)))
  await sleep(100)
  assert.equal(second.isAnswered, false)
  await fileElsewhere(app, box, 'Late')
  const answer = await second.answer
  assert.deepEqual(subjects(answer), ['Late'])
  // Nothing waits and nothing is there: the place is kept.
  const third = await box.project.get(nextOf(answer).replace('wait=60', 'wait=0'))
  assert.deepEqual([third.status, third.body], [200, []])
  await fileHere(box, 'Last')
  assert.deepEqual(subjects(await box.project.get(nextOf(third))), ['Last'])
})

test('what waited in the spool for long is new when it is filed', async () => {
  const box = await newMailbox(app)
  const mail = await accept(app, { recipients: [box.address], subject: 'Delayed' })
  mail.message.received_at = new Date(mail.message.received_at.getTime() - 600_000)
  await fileMessages(app.services, [mail])
  assert.deepEqual(subjects(await box.project.get(box.path('?wait=0'))), ['Delayed'])
})

test('old mail is no news, unless a cursor says where to go on', async () => {
  const box = await newMailbox(app)
  const before = await box.project.get(box.path('?wait=0'))
  assert.deepEqual(before.body, [])
  await fileHere(box, 'Old')
  app.clock.advance(61_000)
  const none = await box.project.get(box.path('?wait=0'))
  assert.deepEqual(none.body, [])
  assert.deepEqual(subjects(await box.project.get(nextOf(before))), ['Old'])
})

test('several that came meanwhile are given in their order, page by page', async () => {
  const box = await newMailbox(app)
  const start = await box.project.get(box.path('?wait=0&limit=2'))
  for (const subject of ['1', '2', '3']) await fileHere(box, subject)
  const first = await box.project.get(nextOf(start))
  const second = await box.project.get(nextOf(first))
  assert.deepEqual([subjects(first), subjects(second)], [['1', '2'], ['3']])
})

test('only what matches ends the wait, and what was sent does not unless it is asked for', async () => {
  const box = await newMailbox(app)
  const inbound = waiting(box.project.get(box.path('?wait=60')))
  const outbound = waiting(box.project.get(box.path('?wait=60&direction=outbound')))
  await sleep(100)
  await box.project.post(box.path(), { to_address: 'ben@example.org', subject: 'Out', text_body: 'x' })
  assert.deepEqual(subjects(await outbound.answer), ['Out'])
  assert.equal(inbound.isAnswered, false)
  await fileHere(box, 'In')
  assert.deepEqual(subjects(await inbound.answer), ['In'])
})

test('a wait that is too long, no number, or has a cursor to older mail is refused', async () => {
  const box = await newMailbox(app)
  for (const subject of ['1', '2']) await fileHere(box, subject)
  const older = new URL(`http://x${nextOf(await box.project.get(box.path('?limit=1')))}`).searchParams.get('cursor')
  for (const query of ['wait=61', 'wait=-1', 'wait=1.5', 'wait=x', 'wait=', `wait=1&cursor=${older}`]) {
    const { status, body } = await box.project.get(box.path(`?${query}`))
    assert.deepEqual([status, body.error.code], [422, 'validation_error'], query)
  }
})

test('a key has twenty places to wait at; who leaves makes room', async () => {
  const box = await newMailbox(app)
  const leaving = new AbortController()
  const url = `${app.url}/v1${box.path('?wait=60')}`
  const headers = { authorization: `Bearer ${box.project.key}` }
  // Each with a connection of its own, which ends with it.
  const hold = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { headers, agent: false, signal: leaving.signal }, resolve).on('error', reject)
    })
  const held = Array.from({ length: 21 }, hold)
  const full = await Promise.race(held)
  assert.deepEqual([full.statusCode, full.headers['retry-after']], [429, '5'])
  assert.match(await text(full), /"code":"rate_limited".*in 20 requests already/)
  // Reading needs no place.
  assert.equal((await box.project.get(box.path())).status, 200)
  leaving.abort()
  await Promise.allSettled(held)
  await until('room', async () => (await box.project.get(box.path('?wait=0'))).status === 200)
})

test('a key that is taken back while it waits hears no more', async () => {
  const box = await newMailbox(app)
  const { body: token } = await box.project.post('/api/tokens', { name: 'short', scope: 'read' })
  const asked = fetch(`${app.url}/v1${box.path('?wait=60')}`, { headers: { authorization: `Bearer ${token.key}` } })
  await sleep(100)
  await box.project.delete(`/api/tokens/${token.id}`)
  // As long as a key is remembered.
  await sleep(600)
  await fileHere(box, 'Secret')
  const answer = await asked
  assert.equal(answer.status, 401)
  assert.doesNotMatch(await answer.text(), /Secret/)
})

test('a process that stops answers who waits, at once', async () => {
  const stopped = await startApp()
  const box = await newMailbox(stopped)
  const url = `${stopped.url}/v1${box.path('?wait=60')}`
  const asked = fetch(url, { headers: { authorization: `Bearer ${box.project.key}` } })
  await sleep(200)
  await stopped.stop()
  const answer = await asked
  assert.deepEqual([answer.status, await answer.json()], [200, []])
})

test('a look goes through a stretch of the mailbox, and its Link goes on behind it', async () => {
  const box = await newMailbox(app)
  await fileHere(box, 'First needle')
  const { database } = app.services
  // As if twenty thousand others had come since, and were removed again.
  await database.run`update mailboxes set last_position = last_position + 20000 where id = ${parseId('mbx', box.id)}`
  await fileHere(box, 'Last needle')
  const cursor = formatCursor(['after-0'])
  let answer = await box.project.get(box.path(`?wait=1&search=needle&cursor=${cursor}`))
  const seen = [subjects(answer)]
  while (seen.flat().length < 2) {
    answer = await box.project.get(nextOf(answer))
    seen.push(subjects(answer))
  }
  assert.deepEqual(seen, [['First needle'], [], ['Last needle']])
})

test('of one project only so many wait, however many keys it has', async () => {
  const box = await newMailbox(app)
  const keys = await Promise.all(
    Array.from(
      { length: 11 },
      async (_, number) => (await box.project.post('/api/tokens', { name: `Key ${number}`, scope: 'read' })).body.key as string,
    ),
  )
  const ending = new AbortController()
  const refused: number[] = []
  const ask = async (key: string) => {
    const answer = await fetch(`${app.url}/v1${box.path('?wait=60')}`, {
      headers: { authorization: `Bearer ${key}` },
      signal: ending.signal,
    })
    refused.push(answer.status)
  }
  const all = keys.flatMap((key) => Array.from({ length: 20 }, () => ask(key)))
  await until('those for whom there is no room', () => refused.length >= 20)
  ending.abort()
  await Promise.allSettled(all)
  assert.deepEqual(refused, Array(20).fill(429))
  const again = () => fetch(`${app.url}/v1${box.path('?wait=0')}`, { headers: { authorization: `Bearer ${keys[10]}` } })
  await until('room again', async () => (await again()).status === 200)
})
