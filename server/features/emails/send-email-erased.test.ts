import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'

const app = await startApp()
const { database } = app.services

test('a repeat after its recipient was erased is not found, says what became of it, and sends nothing', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  const to = 'gone@example.org'
  assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email: to, verified: true })).status, 201)
  const requests = [
    { path: '/emails', body: { from: list.mailbox_address, to, subject: 's', text: 't' }, key: 'plain' },
    { path: `/mailboxes/${list.mailbox_id}/emails`, body: { to_address: to, subject: 's', text_body: 't' }, key: 'of the mailbox' },
  ]
  const send = ({ path, body, key }: (typeof requests)[number]) =>
    project.request('POST', path, {
      headers: { 'content-type': 'application/json', 'idempotency-key': key.replaceAll(' ', '-') },
      body: JSON.stringify(body),
    })
  for (const request of requests) assert.deepEqual([(await send(request)).status, (await send(request)).status], [201, 200])

  const { body: contacts } = await project.get('/contacts')
  assert.equal((await project.delete(`/contacts/${contacts[0].id}`)).status, 204)
  await until('the traces are gone', async () => (await database.many`select 1 from erasures`).length === 0, { withinMs: 30_000 })
  await project.events()
  for (const request of requests) {
    const { status, body } = await send(request)
    assert.deepEqual([status, body.error.code], [404, 'not_found'], request.path)
    assert.match(body.error.message, /was sent, and its record has been erased since\. Nothing was sent again/)
  }
  assert.deepEqual(await project.events(), [])
  assert.equal((await project.get('/usage')).body.emails_sent, 2)
})
