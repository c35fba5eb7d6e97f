import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'

/** What adding a subscriber does to the contact behind the address: tags are united, metadata merged one level deep, the rest written. */
const app = await startApp()

async function newList(given?: TestProject) {
  const project = given ?? (await app.newProject())
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.events()
  return { project, path: `/lists/${list.id}/subscribers` }
}

interface Contact {
  id: string
  name: string | null
  org: string | null
  job_title: string | null
  tags: string[]
  metadata: Record<string, unknown>
}

/** The contact as the only contact event since the last look tells it. */
async function toldContact(project: TestProject, type: 'contact.created' | 'contact.updated'): Promise<Contact> {
  const told = (await project.eventsWithData()).filter((event) => event.type.startsWith('contact.'))
  assert.deepEqual(
    told.map((event) => event.type),
    [type],
  )
  return told[0]?.data.contact as Contact
}

test('everything that is known goes onto a new contact', async () => {
  const { project, path } = await newList()
  const known = { name: 'Ann', tags: ['a', ' b ', 'a'], metadata: { n: 1, deep: { x: [1] } }, org: 'Acme', job_title: 'Editor' }
  await project.post(path, { email: 'Ann@example.org', ...known })
  const contact = await toldContact(project, 'contact.created')
  const { name, tags, metadata, org, job_title } = contact
  assert.deepEqual({ name, tags, metadata, org, job_title }, { ...known, tags: ['a', 'b'] })
})

test('a contact that exists gains tags, has metadata merged one level deep, and is written over in org and job_title', async () => {
  const { project, path } = await newList()
  const email = 'ann@example.org'
  await project.post(path, { email, verified: true, tags: ['a', 'b'], metadata: { keep: 1, over: 1, deep: { x: 1, y: 1 } }, org: 'Acme' })
  const before = await toldContact(project, 'contact.created')
  await project.post(path, {
    email: 'ANN@example.org',
    tags: ['b', 'c'],
    metadata: { over: null, deep: { x: 2 }, more: 'm' },
    org: 'Other',
    job_title: 'Boss',
  })
  const { id, name, tags, metadata, org, job_title } = await toldContact(project, 'contact.updated')
  assert.equal(id, before.id)
  assert.deepEqual(
    { name, tags, metadata, org, job_title },
    { name: null, tags: ['a', 'b', 'c'], metadata: { keep: 1, over: null, deep: { x: 2 }, more: 'm' }, org: 'Other', job_title: 'Boss' },
  )
})

test('what is left out takes nothing away, and what changes nothing tells nothing', async () => {
  const { project, path } = await newList()
  const known = { email: 'ann@example.org', tags: ['a'], metadata: { m: { x: 1 } }, org: 'Acme', job_title: 'Editor' }
  await project.post(path, known)
  await project.events()
  for (const body of [
    { email: known.email },
    known,
    { email: known.email, tags: [], metadata: {} },
    { ...known, metadata: { m: { x: 1 } } },
  ])
    await project.post(path, body)
  assert.deepEqual(await project.events(), [])
})

test('one person on two lists is one contact, whose name is the first that was given', async () => {
  const { project, path } = await newList()
  const { path: second } = await newList(project)
  const { body: nameless } = await project.post(path, { email: 'ann@example.org' })
  const created = await toldContact(project, 'contact.created')
  assert.equal(created.name, null)
  const { body: named } = await project.post(second, { email: 'ann@example.org', name: 'Ann' })
  const updated = await toldContact(project, 'contact.updated')
  assert.deepEqual([updated.id, updated.name], [created.id, 'Ann'])
  assert.deepEqual([nameless.name, named.name], [null, 'Ann'])
  assert.notEqual(nameless.id, named.id)
})

test('metadata may hold anything that JSON can, and keys that JavaScript is wary of are harmless', async () => {
  const { project, path } = await newList()
  const text = '{"constructor":{"prototype":1},"toString":"x","":0,"a b":[null,true,1.5,"🦊"],"__proto__":{"polluted":true}}'
  const body = `{"email":"odd@example.org","metadata":${text}}`
  const { status } = await project.request('POST', path, { body, headers: { 'content-type': 'application/json' } })
  assert.equal(status, 201)
  const { metadata } = await toldContact(project, 'contact.created')
  const { __proto__: _dropped, ...rest } = JSON.parse(text) as Record<string, unknown>
  assert.deepEqual({ ...metadata }, rest)
  assert.equal(({} as Record<string, unknown>).polluted, undefined)
})

test('twenty additions of different tags at once are all kept', async () => {
  const { project, path } = await newList()
  const tags = Array.from({ length: 20 }, (_, index) => `tag-${index}`)
  const answers = await Promise.all(
    tags.map((tag) => project.post(path, { email: 'busy@example.org', verified: true, tags: [tag], metadata: { [tag]: true } })),
  )
  assert.ok(answers.every((answer) => answer.status === 201))
  const row = await app.services.database.first<{ labels: string[]; metadata: object }>`
    select labels, metadata from contacts where project_id = ${project.id}`
  assert.deepEqual(row?.labels.toSorted(), tags.toSorted())
  assert.equal(Object.keys(row?.metadata ?? {}).length, 20)
  assert.equal((await project.events()).filter((type) => type === 'contact.created').length, 1)
})

test('a refused addition leaves no contact behind', async () => {
  const { project, path } = await newList()
  assert.equal((await project.post(path, { email: 'ann@example.org', tags: [5] })).status, 422)
  const rows = await app.services.database.many`select 1 from contacts where project_id = ${project.id}`
  assert.deepEqual(rows, [])
  assert.deepEqual(await project.events(), [])
})

test('what many requests add up to is bounded as well', async () => {
  const { project, path } = await newList()
  const add = (n: number) =>
    project.post(path, {
      email: 'full@example.com',
      verified: true,
      metadata: { [`field${n}`]: 'x'.repeat(16_000) },
      tags: Array.from({ length: 60 }, (_, tag) => `tag ${n} ${tag}`),
    })
  for (let n = 0; n < 3; n++) assert.equal((await add(n)).status, 201)
  await project.events()
  const { status, body } = await add(3)
  assert.equal(status, 422)
  assert.match(body.error.message, /^tags: would give this contact more than 200 labels/)
  const metadata = await project.post(path, { email: 'full@example.com', verified: true, metadata: { more: 'x'.repeat(16_000), most: 1 } })
  assert.equal(metadata.status, 201)
  const over = await project.post(path, { email: 'full@example.com', verified: true, metadata: { last: 'x'.repeat(16_000) } })
  assert.match(over.body.error.message, /^metadata: would grow beyond/)
})
