import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

test('an export holds everybody, safely for spreadsheets, and can be imported again', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Out' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', name: '=HYPERLINK("x")', verified: true })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'bo@example.com', name: 'Bo, "the" Bold', verified: true })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'cy@example.com' })
  await project.events()
  const answer = await project.get(`/lists/${list.id}/subscribers/export`)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8')
  assert.equal(answer.headers.get('content-disposition'), 'attachment; filename="out-subscribers.csv"')
  const lines = (answer.body as string).split('\r\n')
  assert.equal(lines[0], 'email,name,status,source,subscribed_at,created_at')
  assert.match(lines[1] as string, /^cy@example.com,,pending,api,,\d{4}-/)
  assert.match(lines[2] as string, /^bo@example.com,"Bo, ""the"" Bold",active,verified_api,\d{4}-/)
  assert.match(lines[3] as string, /^ann@example.com,"'=HYPERLINK\(""x""\)",active,verified_api,\d{4}-.*Z,\d{4}-.*Z$/)
  assert.deepEqual(await project.events(), [])

  const { body: copy } = await project.post('/lists', { name: 'In' })
  const imported = await project.request('POST', `/lists/${copy.id}/subscribers/import`, {
    body: answer.body,
    headers: { 'content-type': 'text/csv' },
  })
  // Who has not confirmed is not made active by a file.
  assert.deepEqual([imported.body.imported, imported.body.errors.map(({ email }: { email: string }) => email)], [2, ['cy@example.com']])
  const names = (await project.get(`/lists/${copy.id}/subscribers`)).body.map((row: { name: string }) => row.name).sort()
  assert.deepEqual(names, ['=HYPERLINK("x")', 'Bo, "the" Bold'])
})

test('more than one page is exported, each once', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Long' })
  const csv = Array.from({ length: 12_001 }, (_, n) => `p${n}@example.com`).join('\n')
  await project.request('POST', `/lists/${list.id}/subscribers/import`, { body: csv, headers: { 'content-type': 'text/csv' } })
  const { body } = await project.get(`/lists/${list.id}/subscribers/export`)
  const emails = (body as string)
    .trim()
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(',')[0])
  assert.equal(emails.length, 12_001)
  assert.equal(new Set(emails).size, 12_001)
})

test('an empty list gives a header; another project’s list is not found', async () => {
  const [project, stranger] = [await app.newProject(), await app.newProject()]
  const { body: list } = await project.post('/lists', { name: 'Empty' })
  assert.equal((await project.get(`/lists/${list.id}/subscribers/export`)).body, 'email,name,status,source,subscribed_at,created_at\r\n')
  assert.equal((await stranger.get(`/lists/${list.id}/subscribers/export`)).status, 404)
})
