import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

/** A list of these people, and a search in it that answers whom it found. */
async function listOf(people: { email: string; name?: string }[]) {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Search' })
  const path = `/lists/${list.id}/subscribers`
  for (const person of people) assert.equal((await project.post(path, { ...person, verified: true })).status, 201, person.email)
  const search = async (text: string): Promise<string[]> => {
    const { status, body } = await project.get(`${path}?search=${encodeURIComponent(text)}`)
    assert.equal(status, 200, text)
    return body.map((found: { email: string }) => found.email).sort()
  }
  return { project, search }
}

test('the wildcards of SQL mean themselves', async () => {
  const people = ['100%@example.org', '1000@example.org', 'a_b@example.org', 'axb@example.org'].map((email) => ({ email }))
  const { search } = await listOf([
    ...people,
    { email: 'back@example.org', name: 'C:\\path\\to' },
    { email: 'quote@example.org', name: `O'Hara "x"` },
  ])
  assert.deepEqual(await search('100%'), ['100%@example.org'])
  assert.deepEqual(await search('%'), ['100%@example.org'])
  assert.deepEqual(await search('a_b'), ['a_b@example.org'])
  assert.deepEqual(await search('_'), ['a_b@example.org'])
  assert.deepEqual(await search('\\'), ['back@example.org'])
  assert.deepEqual(await search('c:\\path'), ['back@example.org'])
  assert.deepEqual(await search('\\%'), [])
  assert.deepEqual(await search(`o'hara "`), ['quote@example.org'])
  assert.deepEqual(await search("' or 1=1 --"), [])
})

test('case does not matter in any script', async () => {
  const { search } = await listOf([
    { email: 'e@example.org', name: 'ÉMILE Ångström' },
    { email: 'g@example.org', name: 'ΔΈΣΠΟΙΝΑ' },
    { email: 'r@example.org', name: 'Иван' },
  ])
  assert.deepEqual(await search('émile'), ['e@example.org'])
  assert.deepEqual(await search('ÅNGSTRÖM'), ['e@example.org'])
  assert.deepEqual(await search('δέσποινα'), ['g@example.org'])
  assert.deepEqual(await search('ИВАН'), ['r@example.org'])
})

test('an internationalised address is found as it is written, and as DNS writes it', async () => {
  const { search } = await listOf([{ email: 'Zoë@bücher.example' }])
  assert.deepEqual(await search('zoë'), ['Zoë@bücher.example'])
  assert.deepEqual(await search('bücher'), ['Zoë@bücher.example'])
  assert.deepEqual(await search('xn--bcher-kva'), ['Zoë@bücher.example'])
})

test('the name that was given last is the person’s, and what every list’s search finds', async () => {
  const { project, search } = await listOf([{ email: 'ann@example.org', name: 'Ann' }])
  const { body: second } = await project.post('/lists', { name: 'Second' })
  const path = `/lists/${second.id}/subscribers`
  const { body: shown } = await project.post(path, { email: 'ann@example.org', name: 'Annabel', verified: true })
  assert.equal(shown.name, 'Annabel')
  const { body: found } = await project.get(`${path}?search=annabel`)
  assert.deepEqual(
    found.map((subscriber: { id: string }) => subscriber.id),
    [shown.id],
  )
  assert.deepEqual(await search('annabel'), ['ann@example.org'], 'it is the person that is searched, and Annabel is her name now')
})

test('another list’s and another project’s people are not found', async () => {
  const { project, search } = await listOf([{ email: 'here@example.org' }])
  const { body: second } = await project.post('/lists', { name: 'Second' })
  await project.post(`/lists/${second.id}/subscribers`, { email: 'elsewhere@example.org', verified: true })
  await listOf([{ email: 'stranger@example.org' }])
  assert.deepEqual(await search('example.org'), ['here@example.org'])
})
