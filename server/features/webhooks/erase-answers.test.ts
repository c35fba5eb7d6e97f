import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { until } from '../../../tests/support/until.ts'
import { createEndpoints } from '../../../tests/support/webhooks.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const { database } = app.services
const newEndpoint = await createEndpoints()

interface Row {
  response_headers: Record<string, string> | null
  response_body: string | null
}

test('what receivers answered about somebody goes with them, from the headers as well; what they said of others stays', async () => {
  const project = await app.newProject()
  const endpoint = await newEndpoint(project, 'subscriber.created')
  endpoint.reply = (response, { body }) =>
    response.writeHead(200, { location: `https://hooks.example/?who=${encodeURIComponent(body.data.subscriber.email)}` }).end('noted')
  const { body: list } = await project.post('/lists', { name: 'News' })
  for (const email of ['ann+news@example.org', 'bo@example.org'])
    assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email, verified: true })).status, 201)
  const answered = () => database.many<Row>`
    select response_headers, response_body from webhook_deliveries
    where project_id = ${project.id} and webhook_id = ${endpoint.uuid} and response_headers ? 'location'`
  await until('both answers', async () => (await answered()).length === 2)

  const { body: contacts } = await project.get('/contacts?search=ann')
  assert.equal((await project.delete(`/contacts/${contacts[0].id}`)).status, 204)
  await until('the traces are gone', async () => (await database.many`select 1 from erasures`).length === 0, { withinMs: 30_000 })
  const left = await answered()
  assert.deepEqual(
    left.map(({ response_headers, response_body }) => [response_headers?.location, response_body]),
    [['https://hooks.example/?who=bo%40example.org', 'noted']],
  )
})
