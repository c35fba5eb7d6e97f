import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { order, rowOf, startWithAuthority, untilRow, visit } from '../../tests/support/certificates.ts'
import { cloneDatabase, withClient } from '../../tests/support/database.ts'
import { sendRaw } from '../../tests/support/raw-http.ts'
import { until } from '../../tests/support/until.ts'
import { parseId } from '../base/ids.ts'
import { forgetCertificate } from '../features/certificates/index.ts'

const setup = await startWithAuthority()
const { app, acme, dns, httpsPort, target } = setup
const { database } = app.services
const project = await app.newProject()

/** A host that leads here and has its certificate. */
async function secure(host: string): Promise<string> {
  dns.names[host] = { CNAME: target }
  await order(app, { project_id: project.id, host, target, challenges: ['http-01'] })
  await untilRow(app, host, ({ chain }) => chain !== null)
  return host
}
const open = (host: string, path?: string) => visit({ host, port: httpsPort, ca: acme.root, ...(path ? { path } : {}) })
const plain = (host: string, path: string, method = 'GET') =>
  sendRaw(app.url, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)

test('a host gets a certificate and is served with it, and told to come that way for a year', async () => {
  const page = await open(await secure('news.example.com'))
  assert.deepEqual([page.status, page.body, page.issuer], [200, '{"status":"live"}', 'Test Root'])
  assert.equal(page.headers['strict-transport-security'], 'max-age=31536000')
})

test('names are compared as DNS does', async () => {
  await secure('case.example.com')
  assert.equal((await open('CASE.Example.COM')).status, 200)
})

test('plain HTTP leads there, but for what posts, for proofs and for health', async () => {
  const host = await secure('plain.example.com')
  const led = await plain(host, '/p/one?a=b')
  assert.deepEqual([led.status, led.headers.location], [308, `https://${host}/p/one?a=b`])
  assert.equal(led.headers['strict-transport-security'], undefined)
  assert.equal((await plain(host, '/', 'HEAD')).status, 308)
  assert.equal((await plain(`${host}:80`, '/')).headers.location, `https://${host}/`)
  assert.equal((await plain(host, '/nowhere', 'POST')).status, 404)
  assert.equal((await plain(host, '/healthz')).status, 200)
  assert.equal((await plain(host, '/readyz')).status, 200)
  const proof = await plain(host, '/.well-known/acme-challenge/none')
  assert.deepEqual([proof.status, proof.body], [404, 'No certificate is being ordered with this token.\n'])
})

test('a host without a certificate is not led anywhere, whatever its name', async () => {
  for (const host of ['stranger.example.com', '127.0.0.1', "o'clock", `${'a'.repeat(300)}.example`])
    assert.equal((await plain(host, '/healthz')).status, 200, host)
  const page = await plain('stranger.example.com', '/v1/openapi.json')
  assert.deepEqual([page.status, page.headers['strict-transport-security']], [200, undefined])
})

test('what stands between is believed only about the way it came', async () => {
  const host = await secure('proxied.example.com')
  const head = `GET /v1/openapi.json HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n`
  const answer = await sendRaw(app.url, head)
  assert.deepEqual([answer.status, answer.headers['strict-transport-security']], [200, undefined])
})

test('a handshake for an unknown name, or for none, is refused with an alert', async () => {
  await assert.rejects(open('unknown.example.com'), /handshake failure|alert/i)
  const nameless = connectTls({ host: '127.0.0.1', port: httpsPort, rejectUnauthorized: false })
  const [error] = (await once(nameless, 'error')) as [Error]
  assert.match(error.message, /handshake failure|alert/i)
})

test('TLS before 1.2 and HTTP/2 are not spoken', async () => {
  const host = await secure('old.example.com')
  const old = connectTls({
    host: '127.0.0.1',
    port: httpsPort,
    servername: host,
    ca: acme.root,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
    ciphers: 'DEFAULT@SECLEVEL=0',
  })
  const [error] = (await once(old, 'error')) as [Error]
  assert.match(error.message, /protocol version|unsupported protocol|alert/i)
  const modern = connectTls({ host: '127.0.0.1', port: httpsPort, servername: host, ca: acme.root, ALPNProtocols: ['h2', 'http/1.1'] })
  await once(modern, 'secureConnect')
  assert.equal(modern.alpnProtocol, 'http/1.1')
  modern.destroy()
})

test('what is no TLS gets no answer, and no HTTP over TLS a 400', async () => {
  const host = await secure('garbled.example.com')
  const socket = connect(httpsPort, '127.0.0.1').on('error', () => {})
  socket.end('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  let said = ''
  socket.setEncoding('latin1').on('data', (text) => {
    said += text
  })
  await once(socket, 'close')
  assert.doesNotMatch(said, /HTTP/)
  const secured = connectTls({ host: '127.0.0.1', port: httpsPort, servername: host, ca: acme.root })
  secured.write('nonsense\r\n\r\n')
  const [first] = await secured.setEncoding('utf8').toArray()
  assert.match(String(first), /^HTTP\/1\.1 400 /)
})

test('a renewed certificate is served at once, and one that is forgotten no more', async () => {
  const host = await secure('renewed.example.com')
  const before = await open(host)
  const { issued_at } = await rowOf(app, host)
  await database.run`update certificates set renew_at = now(), due_at = now() where host = ${host}`
  await untilRow(app, host, (row) => row.issued_at?.getTime() !== issued_at?.getTime())
  const after = await open(host)
  assert.deepEqual([after.status, after.serial === before.serial], [200, false])
  await database.transaction((tx) => forgetCertificate(app.services, tx, { project_id: project.id, host }))
  await assert.rejects(open(host), /handshake failure|alert/i)
})

test('what another process has stored, or taken away, is seen within half a minute', async () => {
  const [host, other] = [await secure('here.example.com'), await secure('there.example.com')]
  const [before] = [await open(host), await open(other)]
  // As another process does it: nobody here is told.
  const theirs = await rowOf(app, other)
  const key = app.services.secrets.open('certificate', other, theirs.private_key!)
  const sealed = app.services.secrets.seal('certificate', host, key)
  await database.run`update certificates set private_key = ${sealed}, chain = ${theirs.chain}, issued_at = now() + interval '1 second' where host = ${host}`
  await database.run`delete from certificates where host = ${other}`
  const isRefused = (name: string, why: RegExp) =>
    open(name).then(
      () => false,
      (error: Error) => why.test(error.message),
    )
  // It is for another name, and that is how this test knows it.
  await until('the other certificate', () => isRefused(host, /altnames/), { withinMs: 60_000, everyMs: 500 })
  await until('none', () => isRefused(other, /handshake failure|alert/i), { withinMs: 60_000, everyMs: 500 })
  assert.equal(before?.status, 200)
})

test('who is being answered over TLS when the program stops gets the whole answer; idle connections end', async () => {
  const { connection, drop } = await cloneDatabase()
  const { app: stopping, acme: authority, dns: names, httpsPort: securePort } = await startWithAuthority({}, undefined, connection)
  try {
    const owner = await stopping.newProject()
    const host = 'stopping.example.com'
    names.names[host] = { CNAME: target }
    await order(stopping, { project_id: owner.id, host, target, challenges: ['http-01'] })
    await untilRow(stopping, host, ({ chain }) => chain !== null)
    const { body: list } = await owner.post('/lists', { name: 'Slow' })
    const dial = async () => {
      const socket = connectTls({ host: '127.0.0.1', port: securePort, servername: host, ca: authority.root })
      await once(socket, 'secureConnect')
      return socket.on('error', () => {})
    }
    const idle = await dial()
    const shy = connect(securePort, '127.0.0.1').on('error', () => {})
    await once(shy, 'connect')
    const busy = await dial()
    await withClient(connection, async (holder) => {
      // Somebody else has the row: the request waits inside its transaction for as long as we like.
      await holder.query('begin')
      await holder.query('select 1 from lists where id = $1 for update', [parseId('lst', list.id)])
      const body = JSON.stringify({ name: 'Patience' })
      busy.write(
        `PATCH /v1/lists/${list.id} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${owner.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
      await until('the request waits for the row', async () => {
        const { rows } = await holder.query(
          `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        )
        return rows.length > 0
      })
      const isStopped = stopping.stop()
      await Promise.all([once(idle.resume(), 'close'), once(shy.resume(), 'close')])
      await holder.query('commit')
      const answer = (await busy.setEncoding('utf8').toArray()).join('')
      assert.match(answer, /^HTTP\/1\.1 200 [\s\S]*"name":"Patience"/)
      await isStopped
    })
  } finally {
    await stopping.stop()
    await drop()
  }
})
