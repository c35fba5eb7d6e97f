import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import type { TestProject } from '../../tests/support/project.ts'
import { allOperations } from '../operations/all-operations.ts'

const app = await startApp()
const ask = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(app.url + path, init)
  return { status: response.status, body: (await response.json()) as { error?: { code: string } } }
}

const spaceOf = async (asker: TestProject): Promise<string> => `/${(await asker.get('/api/me')).body.project.space}`

test('a space has nothing for strangers, not even what is open to all elsewhere', async () => {
  const project = await app.newProject()
  const own = await spaceOf(project)
  assert.equal((await ask('/v1/openapi.json')).status, 200)
  for (const space of [own, '/anything/else'])
    for (const authorization of [undefined, 'Bearer sk_nobodys_key_at_all', 'Basic x']) {
      const { status, body } = await ask(`${space}/v1/openapi.json`, authorization ? { headers: { authorization } } : {})
      assert.deepEqual([status, body.error?.code], [404, 'not_found'], space)
    }
  const open = allOperations.filter(({ scope, base }) => scope === 'none' && base === 'api')
  for (const { method, path } of open) {
    const { status, body } = await ask(`${own}/v1${path.replace(/\{\w+\}/g, 'x')}`, { method })
    assert.deepEqual([status, body.error?.code], [404, 'not_found'], path)
  }
})

test('where a key is needed, the answer without one is that', async () => {
  for (const [path, method] of [
    ['/lists', 'GET'],
    ['/lists', 'POST'],
    ['/lists/lst_x', 'DELETE'],
  ] as const) {
    const { status, body } = await ask(`/anything/else/v1${path}`, { method })
    assert.deepEqual([status, body.error?.code], [401, 'unauthorized'], path)
  }
})

test('a key opens its own space, and no other', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const space = await spaceOf(project)
  const at = (path: string) => ask(path, { headers: { authorization: `Bearer ${project.key}` } })
  assert.equal((await at(`${space}/v1/lists`)).status, 200)
  assert.equal((await at(`${space}/v1/openapi.json`)).status, 200)
  for (const path of ['/v1/lists', '/v1/openapi.json', '/v1/nothing'])
    assert.equal((await at((await spaceOf(other)) + path)).status, 404, path)
})
