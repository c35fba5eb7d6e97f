import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseId } from '../server/base/ids.ts'
import { expandOne } from '../server/delivery/broadcast/expand.ts'
import { startWarmUp } from '../server/delivery/control.ts'
import { startApp } from './support/posthaste.ts'
import { addPostInFlight, importReaders, newPost } from './support/posts.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** Many broadcasts of many projects at once: none of them stands in the way of another. */
let delayMs = 0
const peer = await startSmtpPeer({ atDot: () => ({ delayMs }) })
test.after(() => peer.close())
const OUTBOUND = `smtp://127.0.0.1:${peer.port}`
const app = await startApp({ OUTBOUND, ROLES: 'http,consumers' })
const { database } = app.services

const isSent = async ({ project, path }: Awaited<ReturnType<typeof newPost>>) => (await project.get(path)).body.status === 'sent'
const broadcastIdOf = async ({ post }: Awaited<ReturnType<typeof newPost>>) =>
  (await database.first<{ id: never }>`select id from broadcasts where post_id = ${parseId('post', post.id)}`)?.id ?? null

test('subscribers become deliveries by turns of broadcasts', async () => {
  const made = []
  for (let number = 0; number < 3; number++) made.push(await newPost(app, { subscribers: 1 }))
  for (const { project, path } of made) await project.post(`${path}/send`)
  const ids = (await Promise.all(made.map(broadcastIdOf))).sort()
  const [first, second, third] = ids as [never, never, never]
  assert.equal(await expandOne(database, first), second)
  assert.equal(await expandOne(database, third), first)
  assert.equal(await expandOne(database, first), third)
  assert.equal(await expandOne(database, third), null)
  for (const { project, path } of made) await project.post(`${path}/abort`)
})

test('a small post does not wait for large ones, and the third large one does not wait for two others', async () => {
  const posts = []
  for (const count of [3_000, 3_000, 3_000, 10]) {
    const made = await newPost(app)
    await importReaders(made.project, made.list.id, count)
    posts.push(made)
  }
  for (const { project, path } of posts) assert.equal((await project.post(`${path}/send`)).status, 202)
  delayMs = 10
  const sender = await startApp({ OUTBOUND, ROLES: 'sender' }, { connection: app.connection, clock: app.clock })
  const listIds = posts.map(({ list }) => `<${list.subdomain}.posthaste.test>`)
  const ownerOf = (raw: Buffer) => listIds.findIndex((id) => raw.includes(id))
  const [, , third, small] = posts as [never, never, (typeof posts)[0], (typeof posts)[0]]
  await until('the small one to be through', () => isSent(small), { withinMs: 40_000 })
  await until('1,500 to arrive', () => peer.messages.length >= 1_500)
  const owners = peer.messages.slice(0, 1_500).map(({ raw }) => ownerOf(raw))
  assert.ok(owners.lastIndexOf(3) < 600, `the last of the small one came after ${owners.lastIndexOf(3)} others`)
  assert.equal(owners.filter((owner) => owner === 3).length, 10)
  const ofThird = owners.filter((owner) => owner === 2).length
  assert.ok(ofThird > 250, `${ofThird} of the third`)
  delayMs = 0
  for (const made of posts) await until('all to be through', () => isSent(made), { withinMs: 60_000 })
  assert.deepEqual((await third.project.get(third.path)).body.stats.delivered, 3_000)
  const all = peer.messages.map(({ raw, to }) => `${ownerOf(raw)} ${to[0]}`)
  assert.deepEqual([all.length, new Set(all).size], [9_010, 9_010])
  await sender.stop()
})

test('broadcasts that wait, for an address or for tomorrow, do not hold up a later one', async () => {
  const { project, list } = await newPost(app)
  for (let number = 0; number < 110; number++)
    await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  // As many have something due, and a domain that has sent all it may today.
  const warming = await newPost(app)
  await database.transaction((tx) => startWarmUp(tx, { project_id: warming.project.id, domain: 'warm.test' }))
  await database.run`update warm_ups set sent = 200 where project_id = ${warming.project.id}`
  for (let number = 0; number < 210; number++)
    await addPostInFlight(database, { project_id: warming.project.id, listId: warming.list.id, status: 'sending' })
  await database.run`update broadcasts set from_domain = 'warm.test' where project_id = ${warming.project.id}`
  await database.run`update deliveries set next_attempt_at = now() where project_id = ${warming.project.id}`
  const late = await newPost(app, { subscribers: 3 })
  const sender = await startApp({ OUTBOUND, ROLES: 'sender' }, { connection: app.connection, clock: app.clock })
  assert.equal((await late.project.post(`${late.path}/send`)).status, 202)
  await until('the later one to be through', () => isSent(late))
  await sender.stop()
  const touched = await database.many`select 1 from deliveries where project_id = ${warming.project.id} and attempts > 0`
  assert.deepEqual(touched, [])
})
