import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addressHash } from './suppression.ts'

const app = await startApp()

test('an address gets mail again, however it is written', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  for (const [added, removed] of [
    ['ann+news@example.com', 'ANN+news@example.com'],
    ['jörg@bücher.example', 'JÖRG@xn--bcher-kva.example'],
    ['a/b?c#d@example.com', 'a/b?c#d@example.com'],
  ] as const) {
    await project.post('/suppressions', { email: added })
    await project.events()
    const { status, body } = await project.delete(`/suppressions/${encodeURIComponent(removed)}`)
    assert.deepEqual([status, body], [204, null], removed)
    assert.deepEqual((await project.get('/suppressions')).body, [])
    assert.deepEqual(await project.events(), [])
    assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email: added, verified: true })).status, 201)
  }
})

test('somebody erased can come back', async () => {
  const project = await app.newProject()
  await app.services.database.run`
    insert into suppressions (project_id, address_hash, reason) values (${project.id}, ${addressHash(project.id, 'bo@example.com')}, 'erased')`
  assert.equal((await project.delete('/suppressions/bo%40example.com')).status, 204)
  assert.deepEqual((await project.get('/suppressions')).body, [])
})

test('what is not suppressed, what is no address and what another project suppressed is not found', async () => {
  const [project, stranger] = [await app.newProject(), await app.newProject()]
  const { body: kept } = await project.post('/suppressions', { email: 'ann@example.com' })
  for (const [who, path] of [
    [project, 'bo%40example.com'],
    [project, 'nonsense'],
    [project, '%00'],
    [stranger, 'ann%40example.com'],
  ] as const) {
    const { status, body } = await who.delete(`/suppressions/${path}`)
    assert.equal(status, 404, path)
    assert.equal(body.error.code, 'not_found')
  }
  assert.deepEqual((await project.get('/suppressions')).body, [kept])
  assert.deepEqual([await project.events(), await stranger.events()], [[], []])
})
