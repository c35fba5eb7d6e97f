import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

test('every browser of the key’s owner is signed out, nobody else’s, and keys go on working', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  for (let number = 0; number < 3; number++) await project.newSession()
  const foreign = await other.newSession()
  for (let round = 0; round < 2; round++) {
    const { status, body } = await project.delete('/api/sessions')
    assert.deepEqual([status, body], [204, null])
  }
  assert.deepEqual((await project.get('/api/sessions')).body, [])
  assert.deepEqual(
    (await other.get('/api/sessions')).body.map((session: { id: string }) => session.id),
    [foreign],
  )
  assert.deepEqual([...(await project.events()), ...(await other.events())], [])
})

test('without the scope admin nothing ends', async () => {
  const project = await app.newProject()
  const id = await project.newSession()
  const { status, body } = await (await project.withKey(['read', 'write', 'send'])).delete('/api/sessions')
  assert.deepEqual([status, body.error.code], [403, 'forbidden'])
  assert.equal((await project.get('/api/sessions')).body[0].id, id)
  assert.deepEqual(await project.events(), [])
})
