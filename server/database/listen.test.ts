import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cloneDatabase } from '../../tests/support/database.ts'
import { until } from '../../tests/support/until.ts'
import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { openDatabase } from './database.ts'
import { startListening } from './listen.ts'

const log = createLog('silent')
const { connection, drop } = await cloneDatabase()
const database = openDatabase({ connection, clock: systemClock, log })
test.after(async () => {
  await database.close()
  await drop()
})

test('what others say at their commit is heard; after a lost connection it is told that something may have been', async (t) => {
  const heard: (string | undefined)[] = []
  const listening = startListening({ connection, log, channel: 'mailboxes', hear: (told) => heard.push(told) })
  t.after(() => listening.stop())
  await until('the ear to open', () => heard.length > 0)
  assert.deepEqual(heard.splice(0), [undefined])

  await database.transaction(async (tx) => {
    await tx.run`select pg_notify('mailboxes', 'one')`
    await database.run`select pg_notify('elsewhere', 'x')`
    assert.deepEqual(heard, [])
  })
  await until('one', () => heard.includes('one'))

  await database.run`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'posthaste listen' and datname = current_database()`
  await until('the ear to open again', () => heard.includes(undefined))
  await until('two', async () => {
    await database.run`select pg_notify('mailboxes', 'two')`
    return heard.includes('two')
  })
})

test('where nobody can listen, it is told once a second that something may have been said', async (t) => {
  const heard: unknown[] = []
  const nowhere = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nowhere' }
  const listening = startListening({ connection: nowhere, log, channel: 'mailboxes', hear: (told) => heard.push(told) })
  t.after(() => listening.stop())
  await until('two calls', () => heard.length >= 2)
  assert.deepEqual(new Set(heard), new Set([undefined]))
})
