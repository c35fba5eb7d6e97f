import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

test('a contact is shown whole; to another project it does not exist', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, {
    email: 'ann@example.com',
    name: 'Ann',
    verified: true,
    tags: ['vip'],
    metadata: { plan: 'pro' },
    org: 'Acme',
    job_title: 'Engineer',
  })
  await project.events()
  const [{ id }] = (await project.get('/contacts')).body
  const { status, body } = await project.get(`/contacts/${id}`)
  assert.equal(status, 200)
  assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(
    { ...body, created_at: 0, updated_at: 0 },
    {
      id,
      kind: 'person',
      email: 'ann@example.com',
      name: 'Ann',
      notes: null,
      org: 'Acme',
      job_title: 'Engineer',
      tags: ['vip'],
      metadata: { plan: 'pro' },
      country: null,
      city: null,
      timezone: null,
      total_received: 0,
      total_opens: 0,
      total_clicks: 0,
      total_replies: 0,
      last_activity_at: null,
      created_at: 0,
      updated_at: 0,
    },
  )
  const stranger = await (await app.newProject()).get(`/contacts/${id}`)
  assert.equal(stranger.status, 404)
  assert.equal(stranger.body.error.code, 'not_found')
  assert.deepEqual(await project.events(), [])
})

test('what is no contact’s id names nothing', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  for (const id of ['con_01jd00000000000000000000aa', 'con_nonsense', list.id, '%00']) {
    const { status, body } = await project.get(`/contacts/${id}`)
    assert.equal(status, 404, id)
    assert.equal(body.error.code, 'not_found')
  }
})
