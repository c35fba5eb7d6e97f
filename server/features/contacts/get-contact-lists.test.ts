import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { parseId } from '../../base/ids.ts'

const app = await startApp()

test('the lists a person is on, the one joined last first; a deleted list is gone', async () => {
  const project = await app.newProject()
  const lists: { id: string; subdomain: string }[] = []
  for (const [name, type] of [
    ['News', 'newsletter'],
    ['Soon', 'waitlist'],
    ['Gone', 'announcement'],
  ]) {
    lists.push((await project.post('/lists', { name, type })).body)
  }
  const [news, soon, gone] = lists as [(typeof lists)[0], (typeof lists)[0], (typeof lists)[0]]
  const join = async (list: { id: string }, verified: boolean) =>
    (await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified })).body
  const { subscribed_at } = await join(news, true)
  await join(gone, true)
  await join(soon, false)
  await project.delete(`/lists/${gone.id}`)
  await project.events()
  const [{ id }] = (await project.get('/contacts')).body
  const { status, body } = await project.get(`/contacts/${id}/lists`)
  assert.equal(status, 200)
  assert.deepEqual(body, [
    { list_id: soon.id, name: 'Soon', subdomain: soon.subdomain, type: 'waitlist', status: 'pending', subscribed_at: null },
    { list_id: news.id, name: 'News', subdomain: news.subdomain, type: 'newsletter', status: 'active', subscribed_at },
  ])
  const stranger = await (await app.newProject()).get(`/contacts/${id}/lists`)
  assert.equal(stranger.status, 404)
  assert.equal(stranger.body.error.code, 'not_found')
  assert.deepEqual(await project.events(), [])
})

test('beyond a thousand lists a link leads on; any other cursor is refused', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'First' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })
  const { database } = app.services
  const list_id = parseId('lst', list.id)
  await database.run`
    insert into lists (project_id, id, name, subdomain, type, mailbox_id)
    select l.project_id, gen_random_uuid(), l.name || n, l.subdomain || n, l.type, l.mailbox_id from lists l, generate_series(1, 1100) n
    where l.project_id = ${project.id} and l.id = ${list_id}`
  await database.run`
    insert into subscribers (project_id, list_id, id, contact_id, email, email_key, status)
    select s.project_id, l.id, gen_random_uuid(), s.contact_id, s.email, s.email_key, 'active' from subscribers s join lists l using (project_id)
    where s.project_id = ${project.id} and l.id <> ${list_id}`
  const [{ id, list_count }] = (await project.get('/contacts')).body
  assert.equal(list_count, 1101)
  const first = await project.get(`/contacts/${id}/lists`)
  assert.equal(first.body.length, 1000)
  const next = new URL(/^<(.*)>; rel="next"$/.exec(first.headers.get('link') as string)?.[1] as string)
  const second = await project.get(`${next.pathname}${next.search}`)
  assert.equal(second.headers.get('link'), null)
  assert.equal(new Set([...first.body, ...second.body].map((row) => row.list_id)).size, 1101)

  const refused = await project.get(`/contacts/${id}/lists?cursor=made-up`)
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^cursor: /)
})
