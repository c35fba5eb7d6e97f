import assert from 'node:assert/strict'
import { test } from 'node:test'
import { posthaste } from '../../tests/support/command-line.ts'
import { urlOf } from '../../tests/support/empty-database.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { speaking } from '../../tests/support/project.ts'
import { formatId } from '../base/ids.ts'

const app = await startApp({ ROLES: 'http' })
const env = { DATABASE_URL: urlOf(app.connection) }
const { database } = app.services
const ownerKey = await posthaste(['keys', 'create'], env)

test('keys create prints the key alone, which then works with all scopes', async () => {
  assert.equal(ownerKey.code, 0)
  assert.match(ownerKey.stdout, /^sk_[A-Za-z0-9]{38}\n$/)
  assert.match(ownerKey.stderr, /^key_\w+ in project "owner": read, write, send, admin\n/)
  const me = await speaking(app.url, ownerKey.stdout.trim()).get('/api/me')
  assert.equal(me.status, 200)
  assert.equal(me.body.project.slug, 'owner')
  assert.deepEqual(me.body.scopes, ['read', 'write', 'send', 'admin'])
})

test('a key may be narrower: named, of some scopes, for a while, of another project, of one mailbox', async () => {
  const project = await app.newProject()
  const list = await project.post('/lists', { name: 'Narrow' })
  const args = ['--name', 'CI', '--scope', 'read, write', '--project', project.id, '--mailbox', list.body.mailbox_address]
  const created = await posthaste(['keys', 'create', ...args, '--expires', '2100-01-31'], env)
  assert.equal(created.code, 0, created.stderr)
  assert.match(created.stdout, /^sk_mbx_/)
  const me = await speaking(app.url, created.stdout.trim()).get('/api/me')
  assert.deepEqual(
    [me.body.project.id, me.body.mailbox_id, me.body.scopes],
    [formatId('prj', project.id), list.body.mailbox_id, ['read', 'write']],
  )

  const listed = await posthaste(['keys', 'list', '--project', project.id], env)
  assert.match(listed.stdout, /^id +name +prefix +scopes +last used +expires\n/)
  // A name from elsewhere must not command the terminal.
  assert.match(listed.stdout, /^key_\w+ +CI +sk_mbx_\w{4} +read,write +20\S+ \S+ +2100-01-31 00:00Z$/m)
})

test('keys revoke stops a key', async () => {
  const created = await posthaste(['keys', 'create', '--name', 'short-lived'], env)
  const id = /key_\w+/.exec(created.stderr)?.[0] as string
  const revoked = await posthaste(['keys', 'revoke', id], env)
  assert.equal(revoked.code, 0)
  assert.equal((await speaking(app.url, created.stdout.trim()).get('/api/me')).status, 401)
  const again = await posthaste(['keys', 'revoke', id], env)
  assert.deepEqual([again.code, again.stderr], [1, `Project "owner" has no key ${id}. "posthaste keys list" shows them.\n`])
  const audit = await database.many<{ operation: string }>`select operation from audit_log where target->>'id' = ${id} order by id`
  assert.deepEqual(
    audit.map((row) => row.operation),
    ['tokens.create', 'tokens.delete'],
  )
})

test('what cannot be is told, and makes no key', async () => {
  const count = async () => (await database.many`select 1 from api_keys`).length
  const before = await count()
  const wrong: [string[], RegExp][] = [
    [['--scope', 'read,everything'], /^scope\[1\]: must be one of read, write, send, admin\n$/],
    [['--name', ' '], /^name: must not be empty\n$/],
    [['--expires', 'tomorrow'], /^--expires is "tomorrow", but must be a day/],
    [['--expires', '2001-01-01'], /^--expires is "2001-01-01", which is over\.\n$/],
    [['--project', 'nobody'], /^There is no project "nobody"\. There are: owner/],
    [['--mailbox', 'nobody@posthaste.test'], /^There is no mailbox nobody@posthaste\.test in this project\.\n$/],
  ]
  const outcomes = await Promise.all(wrong.map(([args]) => posthaste(['keys', 'create', ...args], env)))
  for (const [index, { code, stdout, stderr }] of outcomes.entries()) {
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, wrong[index]?.[1] as RegExp)
  }
  assert.equal(await count(), before)
  const bad = await posthaste(['keys', 'revoke', 'lst_01h455vb4pex5vsknk084sn02q'], env)
  assert.match(bad.stderr, /is not the id of a key/)
})
