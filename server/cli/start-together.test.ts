import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startProgram, temporaryFolder } from '../../tests/support/command-line.ts'
import { createEmptyDatabase, urlOf } from '../../tests/support/empty-database.ts'

const roles = ['http', 'sender', 'consumers', 'scheduler']

test('four processes that start at once on an empty database all run, and one of them shows the key', async () => {
  const { connection, drop } = await createEmptyDatabase()
  after(drop)
  const env = {
    DATABASE_URL: urlOf(connection),
    DATA_DIR: temporaryFolder(),
    PORT: '0',
    SMTP_PORT: '0',
    HOST: '127.0.0.1',
    PUBLIC_URL: 'https://news.example.com',
  }
  const started = await Promise.all(roles.map((role) => startProgram({ ...env, ROLES: role })))
  const shown = started.filter(({ said }) => /^ {4}sk_[A-Za-z0-9]{38}$/m.test(said))
  assert.equal(shown.length, 1, started.map(({ said }) => said).join('\n'))
  assert.match(shown[0]?.said ?? '', /^ {4}https:\S+\/sign-in\/link\/[\w-]{43}$/m)
  for (const { said } of started) assert.match(said, /Posthaste is running/)
  const [http] = started
  assert.match(http?.said ?? '', /^ +Mail +is captured, and nobody can read it here\. Set OUTBOUND=/m)
  assert.ok(!http?.said.includes('/dev/outbox'), 'which is for this machine alone')
  await Promise.all(started.map(({ stop }) => stop()))
})
