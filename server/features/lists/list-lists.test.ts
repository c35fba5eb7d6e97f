import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { parseId } from '../../base/ids.ts'

const app = await startApp()

test('all lists of the project are answered, newest first, as summaries', async () => {
  const project = await app.newProject()
  assert.deepEqual((await project.get('/lists')).body, [])
  const first = (await project.post('/lists', { name: 'First', type: 'waitlist' })).body
  const second = (await project.post('/lists', { name: 'Second' })).body
  await project.post(`/lists/${second.id}/subscribers`, { email: 'ann@example.org', verified: true })
  await project.post(`/lists/${second.id}/subscribers`, { email: 'bob@example.org' })
  await project.events()

  const { status, headers, body } = await project.get('/lists')
  assert.equal(status, 200)
  assert.equal(headers.get('link'), null)
  const summary = (list: typeof first, subscriber_count: number) => ({
    id: list.id,
    name: list.name,
    subdomain: list.subdomain,
    type: list.type,
    subscriber_count,
    sender_email: list.mailbox_address,
    sender_domain_status: null,
    warmup_status: null,
    created_at: list.created_at,
    last_sent_at: null,
    signals: { to_approve: 0, scheduled: 0, drafts: 0, sending: 0 },
  })
  assert.deepEqual(body, [summary(second, 1), summary(first, 0)])
  assert.deepEqual(await project.events(), [])
})

test('another project’s lists are not among them, nor are deleted ones', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  await theirs.post('/lists', { name: 'Theirs' })
  const gone = (await ours.post('/lists', { name: 'Gone' })).body
  const kept = (await ours.post('/lists', { name: 'Kept' })).body
  assert.equal((await ours.delete(`/lists/${gone.id}`)).status, 204)
  const { body } = await ours.get('/lists')
  assert.deepEqual(
    body.map((list: { id: string }) => list.id),
    [kept.id],
  )
})

test('past a thousand lists a Link header goes on, and every list comes once', async () => {
  const project = await app.newProject()
  const { body: one } = await project.post('/lists', { name: 'Many' })
  const { database } = app.services
  // Over the API this would take a minute. They share the mailbox of the first, which nothing here looks at.
  await database.run`
    insert into lists (project_id, id, name, subdomain, type, mailbox_id)
    select project_id, gen_random_uuid(), 'Many ' || number, 'bulk-' || number, type, mailbox_id
    from lists, generate_series(1, 1001) as number where project_id = ${project.id} and id = ${parseId('lst', one.id)}`

  const first = await project.get('/lists')
  assert.equal(first.body.length, 1000)
  const link = first.headers.get('link') ?? ''
  const next = /^<(.*)>; rel="next"$/.exec(link)?.[1] ?? assert.fail(`no next page in ${link}`)
  assert.ok(next.startsWith(`${app.url}/v1/lists?cursor=`))
  const second = await project.get(next.slice(app.url.length))
  assert.equal(second.status, 200)
  assert.equal(second.headers.get('link'), null)
  const ids = [...first.body, ...second.body].map((list: { id: string }) => list.id)
  assert.equal(new Set(ids).size, 1002)
  assert.deepEqual(ids, [...ids].sort().reverse())
})

test('a cursor that is none is refused', async () => {
  const project = await app.newProject()
  const { status, body } = await project.get('/lists?cursor=abc')
  assert.equal(status, 422)
  assert.equal(body.error.code, 'validation_error')
  assert.match(body.error.message, /^cursor: /)
  assert.deepEqual(await project.events(), [])
})
