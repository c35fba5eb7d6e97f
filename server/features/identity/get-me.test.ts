import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { formatId } from '../../base/ids.ts'
import { scopes } from '../../operations/context.ts'

const app = await startApp()

test('a key tells whose it is and what it may do', async () => {
  const project = await app.newProject()
  const { status, body } = await project.get('/api/me')
  assert.equal(status, 200)
  const { user, key_id, ...rest } = body
  assert.match(user.id, /^usr_[0-9a-z]{26}$/)
  assert.match(key_id, /^key_[0-9a-z]{26}$/)
  assert.equal(user.kind, 'human')
  assert.match(user.email, /@example\.com$/)
  assert.equal(user.name, null)
  assert.match(user.slug, /^[0-9a-f-]{36}$/)
  const shown = { id: formatId('prj', project.id), name: 'Test', slug: project.id, space: `${user.slug}/${project.id}` }
  assert.deepEqual(rest, { project: shown, role: 'owner', mailbox_id: null, scopes: [...scopes] })
  assert.deepEqual(await project.events(), [])
})

test('every valid key will do, whatever its scopes, and one of a mailbox too', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Mine' })
  await project.events()
  for (const scope of scopes) {
    const { body: token } = await project.post('/api/tokens', { name: scope, scope, mailbox_id: list.mailbox_id })
    const { status, body } = await speaking(app.url, token.key).get('/api/me')
    assert.equal(status, 200)
    assert.deepEqual([body.scopes, body.mailbox_id, body.key_id], [[scope], list.mailbox_id, token.id])
  }
  assert.deepEqual(await project.events(), [])
})

test('without a key it is nobody', async () => {
  const { status, body } = await speaking(app.url, null).get('/api/me')
  assert.equal(status, 401)
  assert.equal(body.error.code, 'unauthorized')
})
