import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withClient } from '../server/database/with-client.ts'
import { startProgram, temporaryFolder } from './support/command-line.ts'
import { cloneDatabase, onDatabase, testServer } from './support/database.ts'
import { urlOf } from './support/empty-database.ts'
import { freePort } from './support/free-port.ts'
import { until } from './support/until.ts'

/** The program as most people run it, with the sender in a thread of its own, on a database that answers and takes no writes. */
const { connection, drop } = await cloneDatabase()
after(drop)
const port = await freePort()
const token = 'a-token-of-the-monitor'
const { child } = await startProgram({
  DATABASE_URL: urlOf(connection),
  DATA_DIR: temporaryFolder(),
  PORT: String(port),
  HOST: '127.0.0.1',
  SMTP_PORT: String(await freePort()),
  LOG_LEVEL: 'warn',
  METRICS_TOKEN: token,
})
let log = ''
child.stdout?.on('data', (chunk) => {
  log += chunk
})

const readiness = async () => {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  return { code: answer.status, ...((await answer.json()) as { status: string; trouble?: string }) }
}
const numberOf = async (name: string) => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } })
  assert.equal(answer.status, 200)
  return Number(new RegExp(`^${name} (.+)$`, 'm').exec(await answer.text())?.[1])
}
const name = await withClient(
  connection,
  async (client) => (await client.query('select current_database() as name')).rows[0].name as string,
)
const inServer = (...statements: string[]) =>
  withClient(onDatabase(testServer(), 'postgres'), async (client) => {
    for (const statement of statements) await client.query(statement)
  })
/** Sessions keep what held when they began. */
const endSessions = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`

/** Of what fails again and again: when each line was said that differs from others by its words, its loop or its reason. */
function timesByLine(): Map<string, number[]> {
  const times = new Map<string, number[]>()
  for (const text of log.split('\n').filter((line) => line.endsWith('}'))) {
    const { time, msg, loop, reason } = JSON.parse(text)
    if (!['a step failed and is tried again', 'the job queue met an error and goes on'].includes(msg)) continue
    const key = JSON.stringify({ msg, loop, reason })
    times.set(key, [...(times.get(key) ?? []), Date.parse(time)])
  }
  return times
}

test('what cannot be written is told beside "ready" while it lasts, by the thread, too, and in the log once a minute', async () => {
  await until('the program', async () => (await readiness()).code === 200)
  assert.equal(await numberOf('posthaste_trouble'), 0)

  await inServer(`alter database ${name} set default_transaction_read_only = on`, endSessions)
  const trouble = /the database cannot be written just now.*: the database is read-only/
  const ofThread = /the work "message sender" stands still/
  const ofMain = /the work "consumer activity" stands still/
  const told = await until(
    'the trouble to be told',
    async () => {
      const now = await readiness()
      return [trouble, ofThread, ofMain].every((words) => words.test(now.trouble ?? '')) && now
    },
    { withinMs: 60_000, everyMs: 100 },
  )
  assert.equal(told.code, 200)
  assert.equal(told.status, 'ready')
  assert.equal(await numberOf('posthaste_trouble'), 1)

  await inServer(`alter database ${name} reset default_transaction_read_only`, endSessions)
  await until('the end of it', async () => (await readiness()).trouble === undefined, { withinMs: 90_000, everyMs: 200 })
  assert.equal(await numberOf('posthaste_trouble'), 0)
  const times = timesByLine()
  assert.ok(times.size > 0, log)
  // By the times in the lines themselves, which are cut to the millisecond and by another clock than the minute.
  for (const [line, said] of times)
    for (const [index, at] of said.slice(1).entries()) assert.ok(at - (said[index] ?? 0) > 59_000, `${line}: ${said.join(', ')}`)
})
