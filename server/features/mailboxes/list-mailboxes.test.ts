import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newId } from '../../base/ids.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services

test('all mailboxes of the project are told, newest first, with how much is in them', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  await other.post('/mailboxes')
  const { body: list } = await project.post('/lists', { name: 'Letters' })
  const { body: ann } = await project.post('/mailboxes', { address: 'ann@posthaste.test', name: 'Ann' })
  const { body: brief } = await project.post('/mailboxes', { type: 'disposable' })
  await database.run`update mailboxes set email_count = 3 where project_id = ${project.id} and address_key = 'ann@posthaste.test'`
  await project.events()
  const { status, body, headers } = await project.get('/mailboxes')
  assert.equal(status, 200)
  assert.equal(headers.get('link'), null)
  assert.deepEqual(
    body.map(({ id }: { id: string }) => id),
    [brief.id, ann.id, list.mailbox_id],
  )
  assert.deepEqual(body[1], {
    id: ann.id,
    address: 'ann@posthaste.test',
    name: 'Ann',
    type: 'persistent',
    status: 'active',
    email_count: 3,
    expires_at: null,
    created_at: ann.created_at,
  })
  assert.equal(body[0].expires_at, brief.expires_at)
  assert.deepEqual(await project.events(), [])
})

test('they are found by status, type, and part of address or name', async () => {
  const project = await app.newProject()
  const made: Record<string, string> = {}
  for (const [key, body] of Object.entries({
    sales: { address: 'our_sales@posthaste.test', name: 'Sales 100%' },
    brief: { type: 'disposable', address: 'brief@posthaste.test' },
    sleepy: { address: 'sleepy@posthaste.test', name: 'ÄRGER' },
  }))
    made[key] = (await project.post('/mailboxes', body)).body.id
  await project.patch(`/mailboxes/${made.sleepy}`, { status: 'paused' })
  const found = async (query: string) => (await project.get(`/mailboxes?${query}`)).body.map(({ id }: { id: string }) => id)
  assert.deepEqual(await found('status=paused'), [made.sleepy])
  assert.deepEqual(await found('status=active&type=disposable'), [made.brief])
  assert.deepEqual(await found('search=SALES'), [made.sales])
  assert.deepEqual(await found('search=100%25'), [made.sales])
  assert.deepEqual(await found('search=r_s'), [made.sales])
  assert.deepEqual(await found('search=%C3%A4rger'), [made.sleepy])
  assert.deepEqual(await found('search=nothing'), [])
  assert.deepEqual(await found('search=+'), [made.sleepy, made.brief, made.sales])
  for (const query of ['status=gone', 'type=x', `search=${'x'.repeat(201)}`]) {
    const { status, body } = await project.get(`/mailboxes?${query}`)
    assert.deepEqual([status, body.error.code], [422, 'validation_error'], query)
  }
})

test('past a thousand a link leads on, and nothing is told twice or left out', async () => {
  const project = await app.newProject()
  const ids = Array.from({ length: 2_100 }, () => newId<'mbx'>())
  await database.run`
    insert into mailboxes (project_id, id, address, address_key, type, status)
    select ${project.id}, id, id || '@posthaste.test', id || '@posthaste.test', 'persistent', 'active' from unnest(${ids}::uuid[]) as id`
  const seen: string[] = []
  let path: string | null = '/mailboxes'
  const sizes: number[] = []
  while (path !== null) {
    const answer = await project.get(path)
    sizes.push(answer.body.length)
    seen.push(...answer.body.map(({ address }: { address: string }) => address.split('@')[0]))
    path = /<[^>]*(\/v1\/mailboxes\?[^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1] ?? null
  }
  assert.deepEqual(sizes, [1000, 1000, 100])
  assert.deepEqual(seen, ids.toReversed())
})
