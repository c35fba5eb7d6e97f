import assert from 'node:assert/strict'
import { test } from 'node:test'
import { posthaste } from '../../tests/support/command-line.ts'
import { urlOf } from '../../tests/support/empty-database.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { newVisitor } from '../../tests/support/visitor.ts'
import { findOrCreatePerson } from '../features/identity/index.ts'

const app = await startApp({ ROLES: 'http' })
const env = { DATABASE_URL: urlOf(app.connection), AUTH_URL: app.url }
const { database } = app.services

async function accountBehind(link: string): Promise<string> {
  const visitor = newVisitor(app.url)
  const done = await visitor.post(link.trim())
  assert.equal(done.status, 303, done.html)
  return (await visitor.get('/account')).html
}

test('sign-in prints a link alone, which signs the owner in once', async () => {
  const { code, stdout, stderr } = await posthaste(['sign-in'], env)
  assert.equal(code, 0, stderr)
  assert.match(stdout, new RegExp(`^${app.url}/sign-in/link/[\\w-]{43}\n$`))
  assert.match(stderr, /^Signs in owner@posthaste\.test: /)
  assert.match(await accountBehind(stdout), /owner@posthaste\.test/)
  assert.equal((await newVisitor(app.url).post(stdout.trim())).status, 404)
  const audit = await database.first<{ target: object; request_id: string }>`
    select target, request_id from audit_log where operation = 'sign_in_links.create'`
  assert.deepEqual(audit?.target, {})
  assert.match(audit?.request_id ?? '', /^command line of /)
})

test('or somebody else, who has an account', async () => {
  await database.transaction((tx) => findOrCreatePerson(tx, { address: 'Ann@example.org', key: 'ann@example.org' }))
  const { code, stdout, stderr } = await posthaste(['sign-in', '--email', 'ANN@example.org'], env)
  assert.equal(code, 0, stderr)
  assert.match(await accountBehind(stdout), /Ann@example\.org/)
})

test('who has none is told, and no link is made', async () => {
  const before = await database.many`select 1 from sign_in_links`
  const unknown = await posthaste(['sign-in', '--email', 'nobody@example.org'], env)
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /^There is no account for nobody@example\.org\./)
  const wrong = await posthaste(['sign-in', '--email', 'nobody'], env)
  assert.deepEqual([wrong.code, wrong.stdout, wrong.stderr], [1, '', '--email: has no @.\n'])
  assert.deepEqual(await database.many`select 1 from sign_in_links`, before)
})
