import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { expiredCertificate, hookCertificate } from '../../../tests/support/hook-certificates.ts'
import { peerCertificate, peerKey } from '../../../tests/support/peer-certificate.ts'
import { type FailureKind, FetchFailed } from './fetch-error.ts'
import { createGuardedFetch, type FetchRequest } from './guarded-fetch.ts'

const trusted = getCACertificates('default')
setDefaultCACertificates([...trusted, hookCertificate.cert, expiredCertificate.cert])
after(() => setDefaultCACertificates(trusted))

const dns = await startDnsPeer({
  'hooks.test': { A: ['127.0.0.1'] },
  'elsewhere.test': { A: ['127.0.0.1'] },
  'mute.test': { fails: 'silence' },
})
after(dns.close)

async function listen(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return (server.address() as AddressInfo).port
}

/** A server that says what it likes, byte by byte, once a request has begun to come in. */
const startTalker = (t: TestContext, talk: (socket: Socket) => void, certificate = hookCertificate): Promise<number> =>
  listen(
    t,
    createTlsServer(certificate, (socket) => {
      socket.on('error', () => {}).once('data', () => talk(socket))
    }),
  )

function fetcher(t: TestContext, port: number) {
  const guardedFetch = createGuardedFetch({ dnsServers: [dns.address], ports: [port], isPrivateAllowed: false, isPublic: () => true })
  t.after(guardedFetch.close)
  return (request?: FetchRequest, host = 'hooks.test') => guardedFetch(`https://${host}:${port}/`, request)
}

const failing = (kind: FailureKind, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof FetchFailed, String(error))
  assert.equal(error.kind, kind, error.message)
  assert.match(error.message, message)
  return true
}

const soon = { timeoutMs: 300 }
const patient = { timeoutMs: 60_000 }
const head = 'HTTP/1.1 200 OK\r\n'

/** Says the same again for as long as somebody listens. */
function repeat(socket: Socket, text: string, start = ''): void {
  const go = (): unknown => socket.writable && socket.write(text, () => setImmediate(go))
  socket.write(start, go)
}
/** Says a little every few milliseconds, so that no wait between two bytes is long. */
function drip(socket: Socket, start: string, text: string): void {
  socket.write(start)
  const timer = setInterval(() => socket.write(text), 5)
  socket.once('close', () => clearInterval(timer))
}

const table: [name: string, talk: (socket: Socket) => void, request: FetchRequest, kind: FailureKind, message: RegExp][] = [
  ['never answers', () => {}, soon, 'timeout', /^hooks\.test took longer than 0\.3 s$/],
  ['drips its headers', (socket) => drip(socket, head, 'X: y\r\n'), soon, 'timeout', /took longer/],
  ['drips its body', (socket) => drip(socket, `${head}Content-Length: 9999\r\n\r\n`, 'x'), soon, 'timeout', /took longer/],
  [
    'sends headers without end',
    (socket) => repeat(socket, `X-${'y'.repeat(500)}: z\r\n`, head),
    patient,
    'protocol',
    /more headers than are read/,
  ],
  [
    'sends one endless header',
    (socket) => repeat(socket, 'y'.repeat(1_000), `${head}X: `),
    patient,
    'protocol',
    /more headers than are read/,
  ],
  ['is not HTTP', (socket) => socket.end('220 mail.example.com ESMTP\r\n'), patient, 'protocol', /not HTTP/],
  [
    'announces without end',
    (socket) => repeat(socket, 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'),
    patient,
    'protocol',
    /announces an answer over and over/,
  ],
  [
    'changes the protocol',
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
    patient,
    'protocol',
    /another protocol/,
  ],
  ['hangs up', (socket) => socket.end(), patient, 'connection', /closed the connection/],
  ['resets', (socket) => socket.destroy(), patient, 'connection', /closed the connection/],
  ['breaks off in its headers', (socket) => socket.end(`${head}X: `), patient, 'connection', /closed the connection/],
  [
    'breaks off in its body',
    (socket) => socket.end(`${head}Content-Length: 100\r\n\r\nx`),
    patient,
    'connection',
    /before its answer was complete/,
  ],
  [
    'breaks off in its chunks',
    (socket) => socket.end(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\nhel`),
    patient,
    'connection',
    /before its answer was complete/,
  ],
  ['gives two lengths', (socket) => socket.end(`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`), patient, 'protocol', /not HTTP/],
]
for (const [name, talk, request, kind, message] of table)
  test(`a server that ${name}`, async (t) => {
    const fetch = fetcher(t, await startTalker(t, talk))
    await assert.rejects(fetch(request), failing(kind, message))
  })

test('of a body without end only so much is read', async (t) => {
  const fetch = fetcher(t, await startTalker(t, (socket) => repeat(socket, 'x'.repeat(1_000), `${head}\r\n`)))
  const { status, body, truncated } = await fetch(patient)
  assert.deepEqual([status, body.length, truncated], [200, 65_536, true])
  const little = await fetch({ ...patient, maxBytes: 10 })
  assert.deepEqual([little.body.toString(), little.truncated], ['xxxxxxxxxx', true])
})

test('a body that just fits is whole', async (t) => {
  const fetch = fetcher(t, await startTalker(t, (socket) => socket.end(`${head}\r\n0123456789`)))
  const { body, truncated } = await fetch({ maxBytes: 10 })
  assert.deepEqual([body.toString(), truncated], ['0123456789', false])
})

test('what is packed stays packed, and is not asked for', async (t) => {
  const bomb = gzipSync(Buffer.alloc(10_000_000))
  let asked = ''
  const port = await listen(
    t,
    createTlsServer(hookCertificate, (socket) => {
      socket.once('data', (data) => {
        asked = String(data)
        socket.write(`${head}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`)
        socket.end(bomb)
      })
    }),
  )
  const { body, truncated } = await fetcher(t, port)()
  assert.deepEqual([body.equals(bomb), truncated], [true, false])
  assert.match(asked, /^Accept-Encoding: identity\r$/m)
})

test('an answer that comes before the request was taken counts, and its connection is given up', async (t) => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const sockets: Socket[] = []
  const talk = (socket: Socket) => {
    socket.on('close', () => end()).pause()
    socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno')
    sockets.push(socket)
  }
  const fetch = fetcher(t, await startTalker(t, talk))
  const { status, body } = await fetch({ ...patient, method: 'POST', body: Buffer.alloc(20_000_000) })
  assert.deepEqual([status, body.toString()], [413, 'no'])
  // Nobody notices the end of what nobody reads.
  for (const socket of sockets) socket.resume()
  await ended
})

const badCertificates: [name: string, host: string, certificate: typeof hookCertificate, message: RegExp][] = [
  ['for another name', 'elsewhere.test', hookCertificate, /^elsewhere\.test answered with a certificate for another name$/],
  ['that has expired', 'hooks.test', expiredCertificate, /^hooks\.test answered with a certificate that has expired$/],
  [
    'that nobody signed',
    'hooks.test',
    { cert: peerCertificate, key: peerKey },
    /^hooks\.test answered with a certificate that it signed itself$/,
  ],
]
for (const [name, host, certificate, message] of badCertificates)
  test(`a certificate ${name}: no request is made`, async (t) => {
    let heard = false
    const fetch = fetcher(t, await startTalker(t, () => (heard = true), certificate))
    await assert.rejects(fetch({ ...patient, method: 'POST', body: 'secret' }, host), failing('tls', message))
    assert.equal(heard, false)
  })

test('a server without TLS, and one that is not there', async (t) => {
  const port = await listen(
    t,
    createServer((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhello')),
  )
  await assert.rejects(fetcher(t, port)(patient), failing('tls', /^hooks\.test could not agree with us on TLS/))
  const closed = createServer()
  closed.listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port: gone } = closed.address() as AddressInfo
  closed.close()
  await once(closed, 'close')
  await assert.rejects(fetcher(t, gone)(patient), failing('connection', /^hooks\.test refused the connection$/))
})

test('a server that takes the connection and says nothing of TLS, and a silent name server, have the same time', async (t) => {
  const port = await listen(t, createServer())
  const fetch = fetcher(t, port)
  await assert.rejects(fetch(soon), failing('timeout', /^hooks\.test took longer than 0\.3 s$/))
  await assert.rejects(fetch(soon, 'mute.test'), failing('timeout', /^mute\.test took longer than 0\.3 s$/))
})

test('whoever asked may give up: their reason is thrown, also when they had given up before', async (t) => {
  const given = new AbortController()
  const fetch = fetcher(t, await startTalker(t, () => given.abort(new Error('the process stops'))))
  await assert.rejects(fetch({ ...patient, signal: given.signal }), /^Error: the process stops$/)
  await assert.rejects(fetch({ ...patient, signal: given.signal }), /^Error: the process stops$/)
})
