import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()
const { database } = app.services

async function withPeople(names: string[]) {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  for (const name of names) await project.post(`/lists/${list.id}/subscribers`, { email: `${name}@example.com`, verified: true })
  const people: { id: string; email: string }[] = (await project.get('/contacts?sort=email')).body
  await project.events()
  return { project, ids: people.map(({ id }) => id) }
}

async function newGroup(project: TestProject, name = 'Friends') {
  const { status, body } = await project.post('/contact-groups', { name })
  assert.equal(status, 201)
  return body
}

const refused = async (answer: Promise<{ status: number; body: { error: { code: string; message: string } } }>) => {
  const { status, body } = await answer
  return [status, body.error.code, body.error.message]
}

test('a group is made, renamed and removed, and each is told of once', async () => {
  const { project, ids } = await withPeople(['ann'])
  const group = await newGroup(project, '  Friends ')
  assert.deepEqual(
    { ...group, id: 0, created_at: 0, updated_at: 0 },
    { id: 0, name: 'Friends', contact_count: 0, created_at: 0, updated_at: 0 },
  )
  assert.deepEqual(await project.eventsWithData(), [
    { type: 'contact_group.created', data: { contact_group_id: group.id, name: 'Friends', contact_group: group } },
  ])
  const { body: renamed } = await project.patch(`/contact-groups/${group.id}`, { name: 'friends' })
  assert.equal(renamed.name, 'friends')
  assert.equal((await project.patch(`/contact-groups/${group.id}`, { name: 'friends' })).status, 200)
  assert.deepEqual(await project.eventsWithData(), [
    { type: 'contact_group.updated', data: { contact_group_id: group.id, name: 'friends', contact_group: renamed } },
  ])
  assert.equal((await project.get(`/contact-groups/${group.id}`)).body.name, 'friends')
  await project.post(`/contact-groups/${group.id}/contacts`, { contact_ids: ids })
  await project.events()
  assert.equal((await project.delete(`/contact-groups/${group.id}`)).status, 204)
  assert.deepEqual(await project.events(), ['contact_group.deleted'])
  assert.equal((await project.get(`/contact-groups/${group.id}`)).status, 404)
  assert.equal((await project.get('/contacts')).body.length, 1)
  assert.deepEqual(await database.many`select 1 from contact_group_members where project_id = ${project.id}`, [])
})

test('names are taken once, in capitals or not', async () => {
  const project = await app.newProject()
  const [one, other] = [await newGroup(project, 'Été'), await newGroup(project, 'Autumn')]
  await project.events()
  const taken = [422, 'validation_error', 'name: is the name of another group']
  assert.deepEqual(await refused(project.post('/contact-groups', { name: 'ÉTÉ' })), taken)
  assert.deepEqual(await refused(project.patch(`/contact-groups/${other.id}`, { name: 'été' })), taken)
  for (const name of ['', ' ', 'a\nb', 'x'.repeat(101), 7]) assert.equal((await project.post('/contact-groups', { name })).status, 422)
  const racers = await Promise.all(Array.from({ length: 5 }, () => project.post('/contact-groups', { name: 'Race' })))
  assert.deepEqual(racers.map(({ status }) => status).sort(), [201, 422, 422, 422, 422])
  assert.deepEqual(await project.events(), ['contact_group.created'])
  assert.equal((await (await app.newProject()).post('/contact-groups', { name: 'Été' })).status, 201)
  const names = (await project.get('/contact-groups')).body.map(({ name }: { name: string }) => name)
  assert.deepEqual(names.sort(), ['Autumn', 'Race', 'Été'])
  assert.equal((await project.get(`/contact-groups/${one.id}`)).body.name, 'Été')
})

test('contacts come and go; the count follows, whoever races', async () => {
  const { project, ids } = await withPeople(['ann', 'bo', 'cy'])
  const group = await newGroup(project)
  await project.events()
  const path = `/contact-groups/${group.id}/contacts`
  const added = await project.post(path, { contact_ids: [ids[0], ids[1], ids[0]] })
  assert.deepEqual([added.status, added.body.contact_count], [200, 2])
  assert.equal((await project.post(path, { contact_ids: [ids[1]] })).body.contact_count, 2)
  assert.deepEqual(await project.events(), ['contact_group.updated'])
  const { body } = await project.get(`${path}?limit=1`)
  assert.deepEqual([body.length, body[0].email, body[0].list_count], [1, 'bo@example.com', 1])
  const inGroup = async (query: string) =>
    (await project.get(`/contacts?group_id=${group.id}&${query}`)).body.map(({ email }: { email: string }) => email)
  assert.deepEqual(await inGroup('sort=email'), ['ann@example.com', 'bo@example.com'])
  assert.deepEqual(await inGroup('search=bo'), ['bo@example.com'])
  assert.deepEqual(await inGroup('search=cy@'), [])
  await Promise.all(ids.map((id) => project.post(path, { contact_ids: [id] })))
  await Promise.all(ids.slice(1).map((id) => project.delete(`${path}/${id}`)))
  assert.equal((await project.get(`/contact-groups/${group.id}`)).body.contact_count, 1)
  assert.deepEqual(await project.events(), Array(3).fill('contact_group.updated'))
  assert.deepEqual(await refused(project.delete(`${path}/${ids[2]}`)).then(([status]) => status), 404)
  assert.deepEqual(await project.events(), [])
})

test('one that is nobody of this project is refused with all the others', async () => {
  const [{ project, ids }, stranger] = [await withPeople(['ann']), await withPeople(['eve'])]
  const group = await newGroup(project)
  await project.events()
  const path = `/contact-groups/${group.id}/contacts`
  const [status, code, message] = await refused(project.post(path, { contact_ids: [ids[0], stranger.ids[0]] }))
  assert.deepEqual([status, code], [422, 'validation_error'])
  assert.match(String(message), /^contact_ids\[1\]: con_\w+ is no contact of this project/)
  for (const contact_ids of [[], 'x', ['con_1'], Array(1_001).fill(ids[0])])
    assert.equal((await project.post(path, { contact_ids })).status, 422)
  assert.deepEqual((await project.get(path)).body, [])
  for (const answer of [
    stranger.project.get(path),
    stranger.project.post(path, { contact_ids: stranger.ids }),
    stranger.project.delete(`/contact-groups/${group.id}`),
    project.get(`/contacts?group_id=${formatId('grp', newId())}`),
  ])
    assert.equal((await answer).status, 404)
  assert.deepEqual([await project.events(), await stranger.project.events()], [[], []])
})

test('there is an end to how many groups, and how many in one', async () => {
  const { project, ids } = await withPeople(['ann'])
  const group = await newGroup(project)
  await database.run`
    insert into contact_groups (project_id, id, name, created_at, updated_at)
    select ${project.id}, gen_random_uuid(), 'Group ' || n, now(), now() from generate_series(1, 999) n`
  await database.run`update contact_groups set contact_count = 100000 where project_id = ${project.id}`
  await project.events()
  assert.match(String((await refused(project.post('/contact-groups', { name: 'One more' })))[2]), /the project has 1000 groups/)
  const full = await refused(project.post(`/contact-groups/${group.id}/contacts`, { contact_ids: ids }))
  assert.match(String(full[2]), /^contact_ids: would make the group larger than 100,000/)
  assert.deepEqual(await database.many`select 1 from contact_group_members where project_id = ${project.id}`, [])
  assert.deepEqual(await project.events(), [])
})
