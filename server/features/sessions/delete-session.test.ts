import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()
const idsOf = async (project: TestProject): Promise<string[]> =>
  (await project.get('/api/sessions')).body.map((session: { id: string }) => session.id)

test('one browser is signed out, the others stay', async () => {
  const project = await app.newProject()
  const [first, second] = [await project.newSession(), await project.newSession()]
  const { status, body } = await project.delete(`/api/sessions/${first}`)
  assert.deepEqual([status, body], [204, null])
  assert.deepEqual(await idsOf(project), [second])
  const audit = await app.services.database.first<{ target: object }>`
    select target from audit_log where project_id = ${project.id} and operation = 'sessions.delete'`
  assert.deepEqual(audit?.target, { id: first })
  assert.deepEqual(await project.events(), [])
})

test('another’s session, one that ended and one that never was are not found', async () => {
  const [project, other] = [await app.newProject(), await app.newProject()]
  const [own, foreign] = [await project.newSession(), await other.newSession()]
  await project.delete(`/api/sessions/${own}`)
  for (const id of [own, foreign, formatId('ses', newId())]) {
    const { status, body } = await project.delete(`/api/sessions/${id}`)
    assert.deepEqual([status, body.error.code], [404, 'not_found'])
  }
  assert.deepEqual(await idsOf(other), [foreign])
  assert.deepEqual([...(await project.events()), ...(await other.events())], [])
})
