import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cloneDatabase } from '../../tests/support/database.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { signingRecords } from './signing-keys.ts'

const MAIL_DOMAIN = 'news.example.org'

/** The records of the keys that a start with these settings leaves. */
async function recordsAfter(env: Record<string, string>, connection?: Awaited<ReturnType<typeof cloneDatabase>>['connection']) {
  const app = await startApp({ ROLES: 'http', ...env }, connection ? { connection } : {})
  const records = await signingRecords(app.services.database, app.config.MAIL_DOMAIN)
  await app.stop()
  return records.map(({ name }) => name)
}

test('the first start that sends makes a key for MAIL_DOMAIN, and later ones keep it', async (t) => {
  const { connection, drop } = await cloneDatabase()
  t.after(drop)
  assert.deepEqual(await recordsAfter({ MAIL_DOMAIN }, connection), [], 'captured mail need not be signed')
  const made = await recordsAfter({ MAIL_DOMAIN, OUTBOUND: 'smtp://127.0.0.1:1' }, connection)
  assert.equal(made.length, 1)
  assert.match(made[0] ?? '', /^\S+\._domainkey\.news\.example\.org$/)
  assert.deepEqual(await recordsAfter({ MAIL_DOMAIN, OUTBOUND: 'smtp://127.0.0.1:1' }, connection), made)
})

test('Amazon signs by itself, and a name for trials has no DNS for the record', async () => {
  assert.deepEqual(await recordsAfter({ MAIL_DOMAIN, OUTBOUND: 'ses://KEY:SECRET@eu-west-1' }), [])
  assert.deepEqual(await recordsAfter({ OUTBOUND: 'smtp://127.0.0.1:1' }), [])
})
