import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newDomainList } from '../../../tests/support/site-domains.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services

test('switching www on counts as connecting: it costs a certificate', async () => {
  const list = await newDomainList(app)
  const isOn = (count: number) => ({ www_enabled: count % 2 === 1 })
  for (let count = 0; count < 30; count++) assert.equal((await list.connect(list.naked, isOn(count))).status, 201)
  assert.equal((await list.connect(list.naked, isOn(30))).status, 201)
  const { status, body } = await list.connect(list.naked, isOn(31))
  assert.deepEqual([status, body.error.code], [429, 'rate_limited'])
  assert.equal((await list.get()).records.length, 2)
})

test('a project has fifty domains at most, and connects thirty an hour', async () => {
  const list = await newDomainList(app)
  for (let count = 0; count < 30; count++) assert.equal((await list.connect(`n${count}.example.org`)).status, 201)
  const { status, body, headers } = await list.connect('one-more.example.org')
  assert.deepEqual([status, body.error.code, headers.get('retry-after')], [429, 'rate_limited', '3600'])
  assert.equal((await list.get()).domain, 'n29.example.org')
  assert.equal((await list.connect('n29.example.org')).status, 201)
  app.clock.advance(3_700_000)
  assert.equal((await list.connect('one-more.example.org')).status, 201)
  await database.run`
    insert into site_domains (project_id, list_id, domain, www_enabled, created_at, pending_since)
    select ${list.project.id}, gen_random_uuid(), 'many' || number || '.example.org', false, now(), now() from generate_series(1, 49) number`
  const other = await newDomainList(app, { project: list.project })
  const refused = await other.connect(other.sub)
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^domain: is one more than the 50 that a project may have/)
  assert.equal((await list.connect(list.sub)).status, 201)
})
