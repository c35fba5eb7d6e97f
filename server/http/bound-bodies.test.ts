import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fastify from 'fastify'
import { registerAnonymous } from '../../tests/support/agents.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { speaking } from '../../tests/support/project.ts'
import { until } from '../../tests/support/until.ts'
import { acceptBodies } from './body.ts'
import { boundBodies } from './bound-bodies.ts'
import { sendError } from './errors.ts'

const kB = 1024

/** A server of nothing but bodies: it answers with their length, and to `/wait` when it is told to. */
async function startServer(limits: { bytes: number; withinMs: number }) {
  const waiting = Promise.withResolvers<void>()
  const app = fastify({ logger: false, trustProxy: ['loopback'], forceCloseConnections: true })
  const services = { log: { debug() {}, warn() {}, error() {} } as never }
  app.setErrorHandler((error, request, reply) => sendError({ services, showError: () => null }, error, request, reply))
  acceptBodies(app)
  boundBodies(app, limits)
  app.post('/', async ({ body }) => ({ length: JSON.stringify(body).length }))
  app.post('/wait', async () => {
    await waiting.promise
    return {}
  })
  app.post('/csv', { config: { takesCsv: true } }, async (request) => {
    let length = 0
    for await (const chunk of request.body as AsyncIterable<Buffer>) length += chunk.length
    return { length }
  })
  after(() => app.close())
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, goOn: waiting.resolve }
}

interface Upload {
  socket: Socket
  /** All that came back until now. */
  received(): string
  isClosed(): boolean
}

async function begin(url: string, head: string): Promise<Upload> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  after(() => socket.destroy())
  let received = ''
  let isClosed = false
  socket
    .on('data', (chunk) => {
      received += chunk
    })
    .on('close', () => {
      isClosed = true
    })
    // Ended from the other side while we send.
    .on('error', () => {})
  await once(socket, 'connect')
  socket.write(`${head}\r\nHost: x\r\n`)
  return { socket, received: () => received, isClosed: () => isClosed }
}

const json = async (url: string, { from = '192.0.2.1', path = '/', length = 0 }) => {
  const upload = await begin(url, `POST ${path} HTTP/1.1`)
  const size = length > 0 ? `Content-Length: ${length}` : 'Transfer-Encoding: chunked'
  upload.socket.write(`X-Forwarded-For: ${from}\r\nContent-Type: application/json\r\n${size}\r\n\r\n`)
  return upload
}

/** The status of the answer. Small enough to go in one piece: a refusal leaves nothing unread that would reset the connection. */
const post = async (url: string, length: number, from = '192.0.2.1'): Promise<number> => {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify('x'.repeat(length - 2)),
  })
  await answer.text()
  return answer.status
}

test('a body that does not come to its end is answered 408 and its connection closed, however lively it is', async () => {
  const { url } = await startServer({ bytes: 1024 * kB, withinMs: 400 })
  const [silent, announced, chunked] = [await json(url, { length: 1_000 }), await json(url, { length: 1_000 }), await json(url, {})]
  const lively = setInterval(() => {
    if (!announced.socket.destroyed) announced.socket.write(' ')
    if (!chunked.socket.destroyed) chunked.socket.write('1\r\n \r\n')
  }, 50)
  await until('all are closed', () => [silent, announced, chunked].every((upload) => upload.isClosed()))
  clearInterval(lively)
  assert.match(silent.received(), /^HTTP\/1\.1 408 /)
  assert.match(silent.received(), /"code":"request_timeout","message":"The body did not come to its end within 0\.4 s/)
  assert.equal(await post(url, 1_000), 200)
})

test('a CSV that streams through has no such end, and is not counted', async () => {
  const { url } = await startServer({ bytes: 8 * kB, withinMs: 100 })
  const upload = await begin(url, 'POST /csv HTTP/1.1')
  upload.socket.write(`Content-Type: text/csv\r\nContent-Length: ${20 * kB}\r\n\r\n`)
  for (let sent = 0; sent < 20; sent++) {
    upload.socket.write('x'.repeat(kB))
    await sleep(20)
  }
  await until('the answer', () => upload.received().includes(`{"length":${20 * kB}}`))
})

test('one address holds half of what there is room for, all together no more than that; beyond it is 503 with Retry-After', async () => {
  const { url } = await startServer({ bytes: 40 * kB, withinMs: 60_000 })
  const first = await json(url, { length: 19 * kB })
  first.socket.write(' '.repeat(15 * kB))
  await until('its bytes are held', async () => (await post(url, 6 * kB)) === 503)
  // Announced, it is refused before it is sent; in chunks, when it goes too far.
  const announced = await json(url, { length: 6 * kB })
  await until('the announced one is answered', () => announced.received().includes('}}'))
  assert.match(announced.received(), /^HTTP\/1\.1 503 [\s\S]*\r\nretry-after: 5\r\n[\s\S]*"code":"service_unavailable"/)
  const chunked = await json(url, {})
  chunked.socket.write(`${kB.toString(16)}\r\n${' '.repeat(kB)}\r\n`.repeat(6))
  await until('the chunked one is closed', () => chunked.isClosed())
  assert.match(chunked.received(), /^HTTP\/1\.1 503 /)

  assert.equal(await post(url, 4 * kB), 200, 'the rest of its half')
  assert.equal(await post(url, 15 * kB, '192.0.2.2'), 200, 'somebody else')
  const second = await json(url, { length: 19 * kB, from: '192.0.2.2' })
  second.socket.write(' '.repeat(15 * kB))
  await until('those are held, too', async () => (await post(url, 6 * kB, '192.0.2.2')) === 503)
  assert.equal(await post(url, 11 * kB, '192.0.2.3'), 503, 'all together')
  assert.equal(await post(url, 9 * kB, '192.0.2.3'), 200)

  first.socket.destroy()
  await until('there is room again', async () => (await post(url, 19 * kB)) === 200)
  assert.equal(second.isClosed(), false)
})

test('a body is held until it is answered, also when its sender has left', async () => {
  const { url, goOn } = await startServer({ bytes: 40 * kB, withinMs: 60_000 })
  const upload = await json(url, { path: '/wait', length: 15 * kB })
  upload.socket.write(JSON.stringify('x'.repeat(15 * kB - 2)))
  await until('its bytes are held', async () => (await post(url, 6 * kB)) === 503)
  upload.socket.destroy()
  await until('it is closed', () => upload.isClosed())
  assert.equal(await post(url, 6 * kB), 503)
  goOn()
  await until('there is room again', async () => (await post(url, 19 * kB)) === 200)
})

test('the program itself refuses what is too much of one key, long before its time', async () => {
  const app = await startApp()
  const project = await app.newProject()
  const uploads: Upload[] = []
  for (let nr = 0; nr < 8; nr++) {
    const upload = await begin(app.url, 'POST /v1/emails HTTP/1.1')
    uploads.push(upload)
    upload.socket.write(`Authorization: Bearer ${project.key}\r\nContent-Type: application/json\r\nContent-Length: 10000000\r\n\r\n`)
    upload.socket.write(Buffer.alloc(9_900_000, ' '))
  }
  const isRefused = (upload: Upload) => upload.isClosed() || upload.received().startsWith('HTTP/1.1 503 ')
  await until('one is refused', () => uploads.some(isRefused), { withinMs: 40_000 })
  assert.equal((await fetch(`${app.url}/healthz`)).status, 200)
  for (const { socket } of uploads) socket.destroy()
})

test('what is larger than a route takes is too large, and not asked to come again when there is room', async () => {
  const app = await startApp()
  const project = await app.newProject()
  const upload = await begin(app.url, 'POST /v1/emails HTTP/1.1')
  upload.socket.write(`Authorization: Bearer ${project.key}\r\nContent-Type: application/json\r\nContent-Length: 70000000\r\n\r\n`)
  await until('it is answered', () => upload.received().startsWith('HTTP/1.1 413 '))
  upload.socket.destroy()
})

test('an agent that may send from its own mailbox only sends no large mail; a key with the scope does', async () => {
  const app = await startApp()
  const agent = await registerAnonymous(app)
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  const mail = { to: 'reader@example.org', subject: 'Large', text: 'x'.repeat(1_100_000) }
  const key = speaking(app.url, agent.credential)
  for (const path of ['/emails', `/mailboxes/${agent.mailbox.id}/emails`]) {
    const { status, body } = await key.post(path, mail)
    assert.deepEqual([status, body.error.code], [413, 'payload_too_large'], path)
  }
  const { status } = await project.post('/emails', { ...mail, from: list.mailbox_address })
  assert.notEqual(status, 413)
})
