import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Pool } from 'pg'
import { testServer } from '../../tests/support/database.ts'
import { createAsk } from './ask.ts'
import { isConnectionLoss } from './database.ts'

const pool = new Pool(testServer())
after(() => pool.end())

test('rows come back; what PostgreSQL refuses is told with the way to who asked', async () => {
  const ask = createAsk(60_000)
  const client = await pool.connect()
  const asked = { name: 'doubled', text: 'select $1::integer * 2 as doubled', values: [21] }
  for (let time = 0; time < 2; time++) assert.deepEqual((await ask(client, asked)).rows, [{ doubled: 42 }])
  const askWrongly = () => ask(client, { text: 'select nonsense' })
  await assert.rejects(
    askWrongly,
    (error: Error & { code?: string }) => error.code === '42703' && /ask\.test\.ts/.test(String(error.stack)),
  )
  assert.deepEqual((await ask(client, asked)).rows, [{ doubled: 42 }], 'the connection is as good as before')
  client.release()
  ask.stop()
})

test('a server that does not answer is given up, as one that is lost', async () => {
  const ask = createAsk(50)
  const client = await pool.connect()
  client.on('error', () => {})
  await assert.rejects(ask(client, { text: 'select pg_sleep(600)' }), (error) => isConnectionLoss(error))
  client.release(true)
  ask.stop()
})
