import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { startApp } from '../../../../tests/support/posthaste.ts'
import { until } from '../../../../tests/support/until.ts'
import { startWebhookPeer } from '../../../../tests/support/webhook-peer.ts'
import { tellOf } from '../../../../tests/support/webhooks.ts'
import { newId } from '../../../base/ids.ts'
import { sealSecret } from '../sign-delivery.ts'
import { makeWebhookSecret } from '../webhook.ts'

const app = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
const { database, secrets } = app.services
/** More than a slow host gets at once (endpoint-rooms.ts). */
const count = 60
const roomOfSlowHost = 48

test('queues that find no room at a slow host are given back, and sent when there is some', async () => {
  const peer = await startWebhookPeer()
  const held: ServerResponse[] = []
  peer.reply = (response) => void held.push(response)
  const project = await app.newProject()
  const ids = Array.from({ length: count }, () => newId<'whk'>())
  await database.run`
    insert into webhooks (project_id, id, url, events, secret, created_at, updated_at)
    select ${project.id}, one.id, ${`${peer.url}/slow`}, array['contact_group.created'], one.secret, now(), now()
    from unnest(${ids}::uuid[], ${ids.map((id) => sealSecret(secrets, id, makeWebhookSecret()))}::bytea[]) as one (id, secret)`
  await tellOf(app, project, 'one')
  await until('each has one', () => held.length === count)
  for (const response of held.splice(0)) response.writeHead(500).end()
  const settled = () => database.many`select 1 from webhook_deliveries where project_id = ${project.id} and attempt = 1`
  await until('all are known to be poor', async () => (await settled()).length === count)
  await tellOf(app, project, 'two')
  await until('as many as there is room for', () => held.length === roomOfSlowHost)
  const givenBack = new Set<string>()
  await until('the others are given back', async () => {
    const free = await database.many<{ webhook_id: string }>`
      select webhook_id from webhook_queues where project_id = ${project.id} and lease_owner is null and due_at is not null`
    for (const { webhook_id } of free) givenBack.add(webhook_id)
    return givenBack.size >= count - roomOfSlowHost
  })
  assert.equal(held.length, roomOfSlowHost)

  peer.reply = (response) => response.writeHead(204).end()
  for (const response of held) response.writeHead(204).end()
  const left = () => database.first`select 1 from webhook_deliveries where project_id = ${project.id} and attempt = 0`
  await until('all are sent', async () => (await left()) === null)
})
