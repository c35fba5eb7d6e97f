import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { formatId, parseId } from '../../base/ids.ts'
import { scopes } from '../../operations/context.ts'
import { findInstance } from '../identity/index.ts'
import { insertToken, makeKey } from '../tokens/index.ts'

const app = await startApp()

test('a project is made for the key’s maker, who owns it, and the key stays where it was', async () => {
  const project = await app.newProject()
  const { status, body } = await project.post('/api/projects', { name: ' Café & Friends ' })
  assert.equal(status, 201)
  const { id, owner, created_at, ...rest } = body
  assert.match(id, /^prj_[0-9a-z]{26}$/)
  assert.ok(new Date(created_at) <= app.clock.now())
  assert.deepEqual(rest, { name: 'Café & Friends', slug: 'cafe-friends', space: `${owner}/cafe-friends`, role: 'owner', plan: 'free' })
  const { body: me } = await project.get('/api/me')
  assert.equal(me.user.slug, owner)
  assert.equal(me.project.id, formatId('prj', project.id))
  const { body: again } = await project.post('/api/projects', { name: 'Café Friends' })
  assert.equal(again.slug, 'cafe-friends-2')
  assert.equal((await project.post('/api/projects', { name: '日本語' })).body.slug, 'project')
  assert.deepEqual((await app.services.database.many`select 1 from api_keys where project_id = ${parseId('prj', id)}`).length, 0)
  assert.deepEqual(await project.events(), [])
})

test('a key for it is made with the key that made it, and works there', async () => {
  const project = await app.newProject()
  const { body: made } = await project.post('/api/projects', { name: 'Reachable' })
  const { status, body: token } = await project.post('/api/tokens', { name: 'Bot', scope: 'read,write', project_id: made.id })
  assert.equal(status, 201)
  const there = speaking(app.url, token.key)
  assert.equal((await there.get('/api/me')).body.project.id, made.id)
  assert.equal((await there.post('/lists', { name: 'First' })).status, 201)
  assert.deepEqual(await project.events(), [])
})

test('names that belong to the installation are not given as addresses', async () => {
  const project = await app.newProject()
  for (const name of ['Admin', 'API', 'account', 'Sign in'])
    assert.match((await project.post('/api/projects', { name })).body.slug, /-1(-\d+)?$/, name)
})

test('ten at once with one name get ten addresses', async () => {
  const projects = await Promise.all(Array.from({ length: 5 }, () => app.newProject()))
  const answers = await Promise.all([...projects, ...projects].map((project) => project.post('/api/projects', { name: 'Race' })))
  assert.deepEqual(
    answers.map((answer) => answer.status),
    Array(10).fill(201),
  )
  assert.equal(new Set(answers.map((answer) => answer.body.slug)).size, 10)
})

test('what the owner of the installation makes is unlimited', async () => {
  const { database } = app.services
  const instance = (await findInstance(database)) ?? assert.fail()
  const key = makeKey(false)
  const { owner_project_id: project_id, owner_id: user_id } = instance
  await database.transaction((tx) =>
    insertToken(tx, { project_id, user_id, name: 'test', key, scopes: [...scopes], mailbox_id: null, expires_at: null }),
  )
  assert.equal((await speaking(app.url, key).post('/api/projects', { name: 'Ours' })).body.plan, 'unlimited')
})

test('there is an end to how many one person owns', async () => {
  const project = await app.newProject()
  const { database } = app.services
  await database.run`
    insert into projects (id, name, slug, owner_id)
    select gen_random_uuid(), 'Many', 'many-' || gen_random_uuid(), ${project.user_id} from generate_series(1, 99)`
  const { status, body } = await project.post('/api/projects', { name: 'One more' })
  assert.equal(status, 422)
  assert.match(body.error.message, /^name: .*100 projects/)
  assert.deepEqual(await project.events(), [])
})

test('a person sees all projects that they are in, a lesser key only its own', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { body: second } = await ours.post('/api/projects', { name: 'Second' })
  const { database } = app.services
  await database.run`insert into members (project_id, user_id, role) values (${theirs.id}, ${ours.user_id}, 'viewer')`
  const { status, body } = await ours.get('/api/projects')
  assert.equal(status, 200)
  assert.deepEqual(body[0], second)
  assert.deepEqual(
    body.map((shown: { id: string; role: string }) => [shown.id, shown.role]),
    [
      [second.id, 'owner'],
      [formatId('prj', theirs.id), 'viewer'],
      [formatId('prj', ours.id), 'owner'],
    ],
  )
  const lesser = await ours.withKey(['read', 'write', 'send'])
  assert.deepEqual(
    (await lesser.get('/api/projects')).body.map((shown: { id: string }) => shown.id),
    [formatId('prj', ours.id)],
  )
  assert.deepEqual(await ours.events(), [])
})

test('a project is renamed through its own keys alone, and its address stays', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  const { body: second } = await ours.post('/api/projects', { name: 'Second' })
  const id = formatId('prj', ours.id)
  const { status, body } = await ours.patch(`/api/projects/${id}`, { name: 'New name' })
  assert.equal(status, 200)
  assert.deepEqual([body.name, body.slug], ['New name', ours.id])
  assert.equal((await ours.get('/api/me')).body.project.name, 'New name')
  for (const other of [second.id, formatId('prj', theirs.id)])
    assert.equal((await ours.patch(`/api/projects/${other}`, { name: 'Mine' })).status, 404)
  assert.equal((await theirs.get('/api/me')).body.project.name, 'Test')
  assert.equal((await ours.patch(`/api/projects/${id}`, { name: '  ' })).status, 422)
  assert.deepEqual([...(await ours.events()), ...(await theirs.events())], [])
})
