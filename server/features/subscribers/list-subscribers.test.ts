import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'

interface Shown {
  id: string
  email: string
  name: string | null
  status: string
}

const app = await startApp()
const total = 500
let project: TestProject
let path: string
/** All of them, in the order in which they were added. */
const added: Shown[] = []

/** Follows the Link headers to the last page. */
async function allPages(query: string): Promise<{ pages: Shown[][]; items: Shown[] }> {
  const pages: Shown[][] = []
  let next: string | null = `${app.url}/v1${path}${query}`
  while (next !== null) {
    const { status, headers, body } = await project.get(next.slice(app.url.length))
    assert.equal(status, 200)
    pages.push(body)
    const link = headers.get('link')
    next = link === null ? null : (/^<(http[^>]+)>; rel="next"$/.exec(link)?.[1] ?? assert.fail(link))
    if (next !== null) assertKeeps(next, query)
  }
  return { pages, items: pages.flat() }
}

/** The next page is asked for with the same parameters, but for the cursor, at our public address. */
function assertKeeps(next: string, query: string): void {
  const [wanted, got] = [new URL(`${app.url}/v1${path}${query}`), new URL(next)]
  wanted.searchParams.delete('cursor')
  got.searchParams.delete('cursor')
  assert.equal(got.origin + got.pathname, wanted.origin + wanted.pathname)
  assert.deepEqual([...got.searchParams].sort(), [...wanted.searchParams].sort())
}

const idsOf = (items: Shown[]) => items.map((item) => item.id)
const newestFirst = (pick: (item: Shown, index: number) => boolean) => idsOf(added.filter(pick).toReversed())

before(async () => {
  project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Crowd' })
  path = `/lists/${list.id}/subscribers`
  for (let index = 0; index < total; index++) {
    const name = index % 10 === 0 ? `Ünï Person ${index}` : undefined
    const { body } = await project.post(path, { email: `P${index}@example.org`, verified: index % 3 !== 0, ...(name ? { name } : {}) })
    added.push(body)
  }
  await project.events()
})

test('the first page is 50, newest first, with every field of the summary', async () => {
  const { status, body } = await project.get(path)
  assert.equal(status, 200)
  assert.deepEqual(body, added.slice(-50).toReversed())
  assert.deepEqual(await project.events(), [])
})

test('pages of any size give everybody once, in order, and the last has no Link', async () => {
  for (const limit of [200, 100, 77, 50]) {
    const { pages, items } = await allPages(`?limit=${limit}`)
    assert.deepEqual(
      idsOf(items),
      newestFirst(() => true),
    )
    assert.equal(pages.length, Math.ceil(total / limit))
    assert.ok(pages.slice(0, -1).every((page) => page.length === limit))
  }
  assert.equal((await allPages('')).items.length, total)
})

test('a status filter pages just the same, and keeps its parameters', async () => {
  const pending = await allPages('?status=pending&limit=40')
  assert.deepEqual(
    idsOf(pending.items),
    newestFirst((_, index) => index % 3 === 0),
  )
  const active = await allPages('?limit=200&status=active')
  assert.deepEqual(
    idsOf(active.items),
    newestFirst((_, index) => index % 3 !== 0),
  )
  assert.deepEqual((await allPages('?status=bounced')).items, [])
})

test('a search finds parts of the address and the name, in any case, and pages', async () => {
  const found = async (search: string, more = '') => idsOf((await allPages(`?search=${encodeURIComponent(search)}&limit=13${more}`)).items)
  assert.deepEqual(
    await found('p1'),
    newestFirst((_, index) => String(index).startsWith('1')),
  )
  assert.deepEqual(
    await found('P42@EXAMPLE'),
    newestFirst((_, index) => index === 42),
  )
  assert.deepEqual(
    await found('ÜNÏ person'),
    newestFirst((_, index) => index % 10 === 0),
  )
  assert.deepEqual(
    await found('person', '&status=pending'),
    newestFirst((_, index) => index % 30 === 0),
  )
  assert.deepEqual(await found('nobody'), [])
  assert.equal((await found('   ')).length, total)
  assert.equal((await allPages('?search=&limit=200')).items.length, total)
})

test('who joins while somebody pages makes nobody appear twice or be missed', async () => {
  const first = await project.get(`${path}?limit=100`)
  const { body: late } = await project.post(path, { email: 'late@example.org', verified: true })
  const next = /<(.*)>/.exec(first.headers.get('link') ?? '')?.[1] ?? assert.fail()
  const second = await project.get(next.slice(app.url.length))
  assert.deepEqual(idsOf([...first.body, ...second.body]), newestFirst(() => true).slice(0, 200))
  await project.delete(`${path}/${late.id}`)
})

test('what is wrong is named', async () => {
  const cases: [string, RegExp][] = [
    ['limit=0', /^limit: must be at least 1/],
    ['limit=201', /^limit: must be at most 200/],
    ['limit=-5', /^limit: /],
    ['limit=1.5', /^limit: /],
    ['limit=ten', /^limit: /],
    ['limit=1&limit=2', /^limit: /],
    ['status=gone', /^status: must be one of active, pending, unsubscribed, bounced/],
    ['status=active&status=pending', /^status: /],
    ['cursor=xyz', /^cursor: /],
    ['cursor=', /^cursor: /],
    [`cursor=${'a'.repeat(600)}`, /^cursor: /],
    [`search=${'x'.repeat(201)}`, /^search: /],
    ['search=%00', /^search: /],
    ['search=a&search=b', /^search: /],
  ]
  for (const [query, message] of cases) {
    const { status, body } = await project.get(`${path}?${query}`)
    assert.equal(status, 422, query)
    assert.equal(body.error.code, 'validation_error')
    assert.match(body.error.message, message)
  }
})

test('another project’s list is not found', async () => {
  const other = await app.newProject()
  const { status, body } = await other.get(path)
  assert.equal(status, 404)
  assert.equal(body.error.code, 'not_found')
  assert.deepEqual(await other.events(), [])
})
