import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { cloneDatabase, onDatabase, testServer, withClient } from '../../tests/support/database.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { until } from '../../tests/support/until.ts'
import { parseId } from '../base/ids.ts'

test('what is under way when the program stops is finished, and what comes after is sent away', async (t) => {
  const { connection, drop } = await cloneDatabase()
  t.after(drop)
  const app = await startApp({}, { connection })
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Slow' })
  const { host, hostname, port } = new URL(app.url)

  await withClient(app.connection, async (holder) => {
    // Somebody else has the row: the request waits inside its transaction for as long as we like.
    await holder.query('begin')
    await holder.query('select 1 from lists where id = $1 for update', [parseId('lst', list.id)])
    const body = JSON.stringify({ name: 'Patience' })
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    let received = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      received += chunk
    })
    const head = `Host: ${host}\r\nAuthorization: Bearer ${project.key}\r\n`
    socket.write(
      `PATCH /v1/lists/${list.id} HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await until('the request waits for the row', () => isWaiting(), { everyMs: 20 })

    let isStopped = false
    const stopping = app.stop().then(() => {
      isStopped = true
    })
    await until('new connections are refused', () =>
      fetch(`${app.url}/healthz`).then(
        () => false,
        () => true,
      ),
    )
    // Over a connection that is still open, as a load balancer has them.
    socket.write(`GET /readyz HTTP/1.1\r\n${head}\r\n`)
    assert.equal(isStopped, false)
    assert.equal(received, '')

    await holder.query('commit')
    await once(socket, 'close')
    await stopping
    const answers = received.split(/(?=HTTP\/1\.1 \d{3} )/)
    assert.match(answers[0] ?? '', /^HTTP\/1\.1 200 [\s\S]*"name":"Patience"/)
    assert.match(answers[1] ?? '', /^HTTP\/1\.1 503 [\s\S]*"status":"not ready"/)
    assert.equal(answers.length, 2)
  })

  async function isWaiting(): Promise<boolean> {
    return withClient(onDatabase(testServer(), 'postgres'), async (client) => {
      const { rows } = await client.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = $1`, [
        databaseName(app.connection),
      ])
      return rows.length > 0
    })
  }
})

const databaseName = ({ database, connectionString }: { database?: string | undefined; connectionString?: string | undefined }): string =>
  database ?? new URL(connectionString ?? '').pathname.slice(1)

test('stopping an idle program takes no time, though clients keep their connections', async () => {
  const app = await startApp()
  const project = await app.newProject()
  await Promise.all(Array.from({ length: 5 }, () => project.get('/lists')))
  const began = performance.now()
  await app.stop()
  assert.ok(performance.now() - began < 3_000)
})
