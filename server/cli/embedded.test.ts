import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { posthaste, startProgram, temporaryFolder } from '../../tests/support/command-line.ts'
import { withClient } from '../../tests/support/database.ts'
import { createEmptyDatabase, urlOf } from '../../tests/support/empty-database.ts'
import { speaking } from '../../tests/support/project.ts'
import { until } from '../../tests/support/until.ts'
import { connectToRunning } from '../database/embedded/index.ts'

/** The whole life of a small installation, on the embedded server. Its tests follow each other. */
const folder = temporaryFolder()
const [home, moved] = [join(folder, 'home'), join(folder, 'moved')]
const file = join(folder, 'home.backup')
const key = 'sk_bootstrapbootstrapbootstrap'

const probe = createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address() as { port: number }
probe.close()
const env = {
  DATA_DIR: home,
  PORT: String(port),
  HOST: '127.0.0.1',
  PUBLIC_URL: `http://127.0.0.1:${port}`,
  BOOTSTRAP_API_KEY: key,
  SMTP_PORT: '0',
}
const api = speaking(env.PUBLIC_URL, key)
let activity: { items: unknown[]; week: { subscribed: number } }

test('commands work beside the running program, on its server', async () => {
  const program = await startProgram(env)
  const list = await api.post('/lists', { name: 'Home' })
  assert.equal(list.status, 201)
  await api.post(`/lists/${list.body.id}/subscribers`, { email: 'reader@example.com', verified: true })
  await until('the activity is filed', async () => {
    activity = (await api.get(`/lists/${list.body.id}/activity`)).body
    return activity.items.length === 1 && activity.week.subscribed === 1
  })

  const [created, doctor, migrated, saved] = await Promise.all([
    posthaste(['keys', 'create', '--name', 'second'], env),
    posthaste(['doctor'], env),
    posthaste(['migrate'], env),
    posthaste(['backup', file], env),
  ])
  assert.equal((await speaking(env.PUBLIC_URL, created.stdout.trim()).get('/api/me')).status, 200)
  assert.equal(doctor.code, 0, doctor.stdout)
  assert.match(doctor.stdout, /in use by a running Posthaste$/m)
  assert.match(doctor.stdout, /^✓ http port +\d+ is a running Posthaste, ready$/m)
  assert.match(migrated.stdout, /^The schema is up to date \(migration \d+\)\.\n$/)
  assert.equal(saved.code, 0, saved.stderr)
  assert.match(saved.stderr, /The secret key is inside/)

  const refused = await posthaste(['restore', file, '--force'], env)
  assert.match(refused.stderr, /^A Posthaste is running on .*home\. Stop it, then restore\.\n$/)
  assert.equal((await api.get('/lists')).body.length, 1, 'it runs on')
  await program.stop()
})

test('commands start the server themselves when nothing runs, and stop it again', async () => {
  const listed = await posthaste(['keys', 'list'], env)
  assert.match(listed.stdout, /^key_\w+ +second /m)
  assert.equal(existsSync(join(home, 'postgres', 'postmaster.pid')), false)
})

/** Waits for its standard input, on a server that runs. */
async function startImport() {
  const program = fileURLToPath(new URL('../../bin/posthaste.js', import.meta.url))
  const child = spawn(process.execPath, [program, 'import', '-', '--list', 'home'], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const running = await until('its server is ready', () => connectToRunning(home), { withinMs: 20_000 })
  await until('it is connected', () =>
    withClient(
      running,
      async (client) => (await client.query(`select from pg_stat_activity where application_name = 'posthaste'`)).rowCount,
    ),
  )
  return child
}

test('a command that is interrupted leaves no server behind', async () => {
  const child = await startImport()
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  assert.equal(code, 130)
  await until('the server is gone', () => !existsSync(join(home, 'postgres', 'postmaster.pid')), { withinMs: 20_000 })
})

test('a start that is interrupted leaves no server behind either', async () => {
  const program = fileURLToPath(new URL('../../bin/posthaste.js', import.meta.url))
  // Nothing else of the tests' environment: a DATABASE_URL there would be taken for ours.
  const child = spawn(process.execPath, [program, 'start'], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ...env },
    stdio: 'ignore',
  })
  after(() => child.kill('SIGKILL'))
  const pidFile = join(home, 'postgres', 'postmaster.pid')
  await until('the server begins', () => existsSync(pidFile), { withinMs: 20_000, everyMs: 2 })
  child.kill('SIGTERM')
  await once(child, 'exit')
  assert.equal(existsSync(pidFile), false)
})

test('a command whose server others use as well waits for them before it stops it', async () => {
  const owner = await startImport()
  const [ended, waits] = [once(owner, 'exit'), once(owner.stderr, 'data')]
  // What another command looks like to the server; and one that comes while the owner waits.
  const guest = new Client((await connectToRunning(home)) ?? {})
  await guest.connect()
  owner.stdin.end('email\n')
  assert.match(String((await waits)[0]), /^Waiting for another command/)
  const saved = await posthaste(['backup', join(folder, 'beside.backup')], env)
  assert.equal(saved.code, 0, saved.stderr)
  await guest.end()
  assert.deepEqual(await ended, [0, null])
})

test('a backup restored elsewhere is the same installation: its keys, its lists, its secret', async () => {
  const there = { ...env, DATA_DIR: moved }
  const restored = await posthaste(['restore', file], there)
  assert.equal(restored.code, 0, restored.stderr)
  assert.match(restored.stdout, /The secret key is in .*moved\/secret\.key\.\n$/)
  assert.equal(readFileSync(join(moved, 'secret.key'), 'utf8'), readFileSync(join(home, 'secret.key'), 'utf8'))
  const program = await startProgram(there)
  const [list] = (await api.get('/lists')).body
  assert.deepEqual([list.name, list.subscriber_count], ['Home', 1])
  assert.deepEqual((await api.get(`/lists/${list.id}/activity`)).body, activity, 'events that were seen are not seen again')
  await program.stop()
})

test('a secret key that was lost is not made anew, and comes back from a backup', async () => {
  const there = { ...env, DATA_DIR: moved }
  const keyFile = join(moved, 'secret.key')
  rmSync(keyFile)
  for (const args of [['start'], ['dkim']]) {
    const refused = await posthaste(args, there)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /secret\.key is missing, .*"posthaste restore BACKUP --secret-key" puts it back\./)
    assert.equal(existsSync(keyFile), false)
  }
  const back = await posthaste(['restore', file, '--secret-key'], there)
  assert.equal(back.stdout, `The secret key is in ${keyFile}. Nothing else was changed.\n`, back.stderr)
  const again = await posthaste(['restore', file, '--secret-key'], there)
  assert.equal(again.stdout, 'The secret key is there already. Nothing was changed.\n', again.stderr)
  const program = await startProgram(there)
  assert.equal((await api.get('/lists')).body.length, 1)
  await program.stop()
})

test('and it moves to a server database by its URL', async () => {
  const target = await createEmptyDatabase()
  after(target.drop)
  const dataDir = join(folder, 'served')
  const there = { ...env, DATA_DIR: dataDir, DATABASE_URL: urlOf(target.connection) }
  const restored = await posthaste(['restore', file], there)
  assert.equal(restored.code, 0, restored.stderr)
  const [doctor, listed] = await Promise.all([posthaste(['doctor', '--json'], there), posthaste(['keys', 'list'], there)])
  assert.equal(doctor.code, 0, doctor.stdout)
  assert.match(listed.stdout, /^key_\w+ +First key /m)
  assert.equal(existsSync(join(dataDir, 'postgres')), false)
})
