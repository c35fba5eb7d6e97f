import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { type MailboxId, parseId } from '../../base/ids.ts'

const app = await startApp({ ROLES: 'http' })

test('a list’s mailbox is one like others', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Weekly' })
  const { status, body } = await project.get(`/mailboxes/${list.mailbox_id}`)
  assert.equal(status, 200)
  assert.deepEqual(
    [body.address, body.local_part, body.name, body.type, body.list_id],
    ['weekly@posthaste.test', 'weekly', 'Weekly', 'persistent', list.id],
  )
})

test('a key of one mailbox reaches that one; another of the project is forbidden, one of another project not found', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const { body: own } = await project.post('/mailboxes')
  const { body: beside } = await project.post('/mailboxes')
  const { body: theirs } = await other.post('/mailboxes')
  const bound = await project.withKey(['read', 'write', 'send', 'admin'], parseId('mbx', own.id) as MailboxId)
  await project.events()
  await other.events()
  assert.deepEqual((await bound.get(`/mailboxes/${own.id}`)).body, own)
  for (const ask of [bound.get, (path: string) => bound.patch(path, { name: 'Mine' })]) {
    const forbidden = await ask(`/mailboxes/${beside.id}`)
    assert.deepEqual([forbidden.status, forbidden.body.error.code], [403, 'forbidden'])
    const missing = await ask(`/mailboxes/${theirs.id}`)
    assert.deepEqual([missing.status, missing.body.error.code], [404, 'not_found'])
  }
  assert.equal((await bound.get('/mailboxes')).status, 403)
  assert.equal((await bound.post('/mailboxes')).status, 403)
  assert.equal((await bound.delete(`/mailboxes/${own.id}`)).status, 403)
  assert.equal((await bound.patch(`/mailboxes/${own.id}`, { name: 'Mine' })).body.name, 'Mine')
  assert.deepEqual(await project.events(), ['mailbox.updated'])
  assert.deepEqual(await other.events(), [])
})

test('an agent sees the mailbox that it was given, and cannot change it before somebody claims it', async () => {
  const agent = await registerAnonymous(app)
  const key = speaking(app.url, agent.credential)
  assert.equal((await key.get(`/mailboxes/${agent.mailbox.id}`)).body.address, agent.mailbox.address)
  assert.deepEqual(
    (await key.get('/mailboxes')).body.map(({ id }: { id: string }) => id),
    [agent.mailbox.id],
  )
  assert.equal((await key.patch(`/mailboxes/${agent.mailbox.id}`, { name: 'x' })).status, 403)
  assert.equal((await key.post('/mailboxes')).status, 403)
})
