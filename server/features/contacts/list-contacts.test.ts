import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type ContactId, formatId, newId } from '../../base/ids.ts'

const app = await startApp()
const { database } = app.services

interface Known {
  id: ContactId
  email: string | null
  name: string | null
  opens: number
  replies: number
  active: Date | null
}

async function insertContacts(project: TestProject, contacts: Known[]): Promise<void> {
  await database.run`
    insert into contacts (project_id, id, email, email_key, name, total_opens, total_replies, last_activity_at)
    select ${project.id}, id, email, email, name, opens, replies, active
    from json_to_recordset(${JSON.stringify(contacts)}) as c (id uuid, email text, name text, opens integer, replies integer, active timestamptz)`
}

const contact = (known: Partial<Known>): Known => ({ id: newId(), email: null, name: null, opens: 0, replies: 0, active: null, ...known })
const idsIn = (body: { id: string }[]) => body.map((row) => row.id)
const shownIds = (contacts: Known[]) => contacts.map((known) => formatId('con', known.id))

test('a contact is shown once, with the lists it is on, whatever its status there', async () => {
  const project = await app.newProject()
  const lists = await Promise.all(['One', 'Two', 'Gone'].map(async (name) => (await project.post('/lists', { name })).body.id))
  for (const id of lists)
    await project.post(`/lists/${id}/subscribers`, { email: 'Ann@Example.com', name: 'Ann', verified: id !== lists[0] })
  await project.delete(`/lists/${lists[2]}`)
  await project.events()
  const { status, body } = await project.get('/contacts')
  assert.equal(status, 200)
  assert.match(body[0].id, /^con_[0-9a-z]{26}$/)
  assert.deepEqual(
    body.map((row: object) => ({ ...row, id: 0, created_at: 0 })),
    [
      {
        id: 0,
        kind: 'person',
        email: 'Ann@example.com',
        name: 'Ann',
        country: null,
        city: null,
        total_received: 0,
        total_opens: 0,
        total_clicks: 0,
        total_replies: 0,
        list_count: 2,
        last_activity_at: null,
        created_at: 0,
      },
    ],
  )
  assert.deepEqual(await project.events(), [])
  assert.deepEqual((await (await app.newProject()).get('/contacts')).body, [])
})

test('every order begins with those who have what it sorts by; the others follow, newest first', async () => {
  const project = await app.newProject()
  const [a, b, c, d] = [
    contact({ email: 'd@example.com', name: 'bea', opens: 5 }),
    contact({ email: 'b@example.com', name: 'Ada', replies: 1, active: new Date('2026-01-02') }),
    contact({ email: 'c@example.com', active: new Date('2026-01-03') }),
    contact({ name: 'Cy' }),
  ]
  await insertContacts(project, [a, b, c, d])
  const orders = {
    '': [b, a, d, c],
    top: [b, a, d, c],
    activity: [c, b, d, a],
    name: [b, a, d, c],
    email: [b, c, a, d],
    created: [d, c, b, a],
  }
  for (const [sort, order] of Object.entries(orders)) {
    const query = sort === '' ? '?' : `?sort=${sort}&`
    assert.deepEqual(idsIn((await project.get(`/contacts${query}`)).body), shownIds(order), sort)
    assert.deepEqual(idsIn((await project.get(`/contacts${query}limit=3`)).body), shownIds(order.slice(0, 3)), sort)
  }
})

test('search looks in addresses and names, and means every letter as it is', async () => {
  const project = await app.newProject()
  const people = ['ann_lee@example.com', 'annalee@example.org', '100%@example.org'].map((email) => contact({ email }))
  await insertContacts(project, [...people, contact({ name: 'Émile ANNAN' })])
  const found = async (search: string) => (await project.get(`/contacts?sort=created&search=${encodeURIComponent(search)}`)).body
  assert.deepEqual(
    (await found('ANN')).map((row: Known) => row.name ?? row.email),
    ['Émile ANNAN', 'annalee@example.org', 'ann_lee@example.com'],
  )
  assert.deepEqual(idsIn(await found('n_l')), shownIds(people.slice(0, 1)))
  assert.deepEqual(idsIn(await found('0%@')), shownIds(people.slice(2)))
  assert.equal((await found(' émile ')).length, 1)
  assert.equal((await found('\\')).length, 0)
  assert.equal((await found(' ')).length, 4)
  assert.deepEqual((await (await app.newProject()).get('/contacts?search=ann')).body, [])
})

/** Enough that a search does not find a rare word by walking: few have opened, all new; half were active, the rare ones long ago; most have a name. */
const manyContacts = () =>
  Array.from({ length: 5_000 }, (_, index) => {
    const text = String((index * 7_919) % 5_000).padStart(4, '0')
    return contact({
      email: index % 10 === 0 ? null : `${index % 3 === 0 ? 'often' : 'seldom'}${text}@example.com`,
      name: index % 5 === 0 ? null : `${Number(text) < 100 ? 'Rare' : 'Usual'} ${text}`,
      opens: index > 4_850 ? index : 0,
      active: index % 2 === 0 ? new Date(1_700_000_000_000 + ((index * 7_919) % 5_000) * 1_000) : null,
    })
  })

const inOrder = (contacts: Known[], key: (known: Known) => string | number | null, direction: 1 | -1) => {
  const newestFirst = [...contacts].reverse()
  const ranked = newestFirst.filter((known) => key(known) !== null)
  ranked.sort((one, two) => ((key(one) as string) < (key(two) as string) ? -direction : direction))
  return [...ranked, ...newestFirst.filter((known) => key(known) === null)]
}

/** One or two letters are looked for where a word begins. */
const isFound = (known: Known, search: string) => {
  const text = `${known.email ?? ''} ${known.name?.toLowerCase() ?? ''}`
  return search.length > 2 || search === '' ? text.includes(search) : ` ${text}`.includes(` ${search}`)
}

test('among thousands, every order and every search agree with a plain sort', async () => {
  const project = await app.newProject()
  const everybody = manyContacts()
  await insertContacts(project, everybody)
  const orders = {
    top: inOrder(everybody, (known) => known.opens || null, -1),
    activity: inOrder(everybody, (known) => known.active?.getTime() ?? null, -1),
    name: inOrder(everybody, (known) => known.name, 1),
    email: inOrder(everybody, (known) => known.email, 1),
    created: inOrder(everybody, () => null, 1),
  }
  for (const [sort, order] of Object.entries(orders)) {
    for (const search of ['', 'often', 'usual', 'rare', 'l 12', '77', 'se', 'r', 'nobody']) {
      const matching = order.filter((known) => isFound(known, search))
      for (const limit of [1, 200]) {
        const { body } = await project.get(`/contacts?sort=${sort}&search=${encodeURIComponent(search)}&limit=${limit}`)
        assert.deepEqual(idsIn(body), shownIds(matching.slice(0, limit)), `${sort} ${search} ${limit}`)
      }
    }
  }
})

test('what is wrong is named', async () => {
  const project = await app.newProject()
  const cases: [string, RegExp][] = [
    ['sort=age', /^sort: must be one of top, activity, name, email, created/],
    ['limit=0', /^limit: must be at least 1/],
    ['limit=201', /^limit: must be at most 200/],
    ['limit=ten', /^limit: must be a whole number/],
    [`search=${'x'.repeat(201)}`, /^search: must be at most 200/],
    ['search=%00', /^search: holds a NUL/],
  ]
  for (const [query, message] of cases) {
    const { status, body } = await project.get(`/contacts?${query}`)
    assert.equal(status, 422, query)
    assert.equal(body.error.code, 'validation_error')
    assert.match(body.error.message, message)
  }
})
