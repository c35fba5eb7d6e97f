import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cloneDatabase } from '../../../tests/support/database.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { newVisitor } from '../../../tests/support/visitor.ts'
import { systemClock } from '../../base/clock.ts'
import { ConfigError, readConfig } from '../../base/config.ts'
import { createLog } from '../../base/log.ts'
import { createSecrets } from '../../base/secrets.ts'
import { openDatabase } from '../../database/database.ts'
import { scopes } from '../../operations/context.ts'
import { bootstrap } from './bootstrap.ts'

const secrets = createSecrets('a key for tests, long enough to be taken')

/** A migrated database that nobody has started on. */
async function freshDatabase(t: { after(stop: () => Promise<void>): void }) {
  const { connection, drop } = await cloneDatabase()
  const database = openDatabase({ connection, clock: systemClock, log: createLog('silent') })
  t.after(async () => {
    await database.close()
    await drop()
  })
  const count = async () => ({
    users: (await database.many`select 1 from users`).length,
    projects: (await database.many`select 1 from projects`).length,
    members: (await database.many`select 1 from members where role = 'owner'`).length,
    keys: (await database.many`select 1 from api_keys`).length,
  })
  return { connection, database, count }
}
const one = { users: 1, projects: 1, members: 1, keys: 1 }

test('the first start makes one owner with a key of all scopes, every later one nothing', async (t) => {
  const { connection, database, count } = await freshDatabase(t)
  const { key, signInUrl } = (await bootstrap(database, readConfig({ BOOTSTRAP_EMAIL: 'Ann@Example.org' }), secrets)) ?? assert.fail()
  assert.match(signInUrl, /^http:\/\/localhost:8080\/sign-in\/link\/[\w-]{43}$/)
  assert.match(key, /^sk_[A-Za-z0-9]{38}$/)
  assert.deepEqual(await count(), one)
  assert.equal(await bootstrap(database, readConfig({}), secrets), null)
  assert.deepEqual(await count(), one)

  const app = await startApp({}, { connection })
  t.after(() => app.stop())
  const { body } = await speaking(app.url, key).get('/api/me')
  assert.deepEqual([body.user.email, body.user.kind, body.scopes], ['Ann@example.org', 'human', [...scopes]])
  assert.deepEqual(await count(), one)

  const [owner, late] = [newVisitor(app.url), newVisitor(app.url)]
  const link = new URL(signInUrl).pathname
  assert.equal((await owner.get(link)).status, 200)
  assert.equal((await owner.post(link)).status, 303)
  assert.match((await owner.get('/account')).html, /Ann@example\.org/)
  assert.equal((await late.post(link)).status, 404)
})

test('ten processes that start at once make one owner, and one of them has the key', async (t) => {
  const { database, count } = await freshDatabase(t)
  const keys = await Promise.all(Array.from({ length: 10 }, () => bootstrap(database, readConfig({}), secrets)))
  assert.equal(keys.filter((key) => key !== null).length, 1)
  assert.deepEqual(await count(), one)
})

test('two whole programs that start at once on a new database both run, with one owner', async (t) => {
  const { connection, count } = await freshDatabase(t)
  const apps = await Promise.all([startApp({}, { connection }), startApp({}, { connection })])
  t.after(async () => {
    for (const app of apps) await app.stop()
  })
  assert.deepEqual(await count(), one)
  for (const app of apps) assert.equal((await fetch(`${app.url}/readyz`)).status, 200)
})

test('a key that was given beforehand is the owner’s', async (t) => {
  const { connection, database } = await freshDatabase(t)
  const given = 'sk_given0123456789abcdefgh'
  assert.equal((await bootstrap(database, readConfig({ BOOTSTRAP_API_KEY: given }), secrets))?.key, given)
  assert.equal(await bootstrap(database, readConfig({ BOOTSTRAP_API_KEY: 'sk_another0123456789abcdef' }), secrets), null)
  const app = await startApp({}, { connection })
  t.after(() => app.stop())
  assert.equal((await speaking(app.url, given).get('/lists')).status, 200)
  assert.equal((await speaking(app.url, 'sk_another0123456789abcdef').get('/lists')).status, 401)
})

test('with another SECRET_KEY the program refuses to start, says why, and changes nothing', async (t) => {
  const { connection, database, count } = await freshDatabase(t)
  await bootstrap(database, readConfig({}), secrets)
  const other = 'another key for tests, just as long as it'
  await assert.rejects(bootstrap(database, readConfig({}), createSecrets(other)), /SECRET_KEY is not the one/)
  await assert.rejects(startApp({ SECRET_KEY: other }, { connection }), (error: Error) => {
    assert.ok(error instanceof ConfigError, 'said in a line, not as a bug with its trace')
    assert.match(error.message, /^SECRET_KEY /)
    assert.ok(!error.message.includes(other))
    return true
  })
  assert.deepEqual(await count(), one)
})
