import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cloneDatabase, withClient } from '../../tests/support/database.ts'
import { until } from '../../tests/support/until.ts'
import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { openDatabase } from './database.ts'
import { gatherLostConnections } from './lost-connections.ts'

interface Line {
  reason: string
  connections: number
}
function listeningLog() {
  const lines: Line[] = []
  return { lines, log: Object.assign(createLog('silent'), { warn: (line: Line) => void lines.push(line) }) }
}

test('idle connections that go together are told of together', async (t) => {
  const { connection, drop } = await cloneDatabase()
  const { lines, log } = listeningLog()
  const database = openDatabase({ connection, clock: systemClock, log, poolSize: 10 })
  t.after(async () => {
    await database.close()
    await drop()
  })
  const sessions = async () => (await database.many<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(0.2)`)[0]?.pid
  const pids = new Set(await Promise.all(Array.from({ length: 10 }, sessions)))
  assert.equal(pids.size, 10)
  await withClient(connection, (client) => client.query('select pg_terminate_backend(pid) from unnest($1::integer[]) as pid', [[...pids]]))
  await until('all of them are told of', () => lines.reduce((sum, { connections }) => sum + connections, 0) === 10)
  assert.ok(lines.length < 10, `${lines.length} lines`)
  assert.match(lines[0]?.reason ?? '', /terminating connection/)
  assert.equal((await database.many`select 1`).length, 1, 'others are opened')
})

test('what is lost while the program stops is nothing to tell, nor is what was lost just before', async () => {
  const { lines, log } = listeningLog()
  const lost = gatherLostConnections(log, 5)
  lost.add('the server went first')
  lost.stop()
  lost.add('terminating connection due to administrator command')
  await sleep(50)
  assert.deepEqual(lines, [])
})
