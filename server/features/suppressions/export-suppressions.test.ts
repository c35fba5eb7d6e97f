import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addressHash } from './suppression.ts'

const app = await startApp()
const { database } = app.services

test('a file of all, safe to open in a spreadsheet; another project gets a header', async () => {
  const project = await app.newProject()
  const at = '2026-01-01T00:00:00.000Z'
  await database.run`
    insert into suppressions (project_id, address_hash, reason, created_at)
    values (${project.id}, ${addressHash(project.id, 'bo@example.com')}, 'erased', ${at})`
  const { body } = await project.post('/suppressions', { email: '+ann@example.com', detail: '=HYPERLINK("x"), "she" said' })
  await project.events()
  const answer = await project.get('/suppressions/export')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="suppressions.csv"')
  assert.equal(
    answer.body,
    `email,reason,detail,created_at\r\n'+ann@example.com,manual,"'=HYPERLINK(""x""), ""she"" said",${body.created_at}\r\n,erased,,${at}\r\n`,
  )
  assert.equal((await (await app.newProject()).get('/suppressions/export')).body, 'email,reason,detail,created_at\r\n')
  assert.deepEqual(await project.events(), [])
})

test('more than a page is exported, each once', async () => {
  const project = await app.newProject()
  await database.run`
    insert into suppressions (project_id, address_hash, email, reason, created_at)
    select ${project.id}, sha256(n::text::bytea), n || '@example.com', 'manual', ${app.clock.now()} from generate_series(1, 10001) n`
  const lines = (await project.get('/suppressions/export')).body.split('\r\n').slice(1, -1)
  assert.equal(lines.length, 10_001)
  assert.equal(new Set(lines.map((line: string) => line.split(',')[0])).size, 10_001)
})
