import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import { type BroadcastId, newId } from '../../base/ids.ts'
import type { DkimAlgorithm } from '../../mail/dkim/sign.ts'
import { ensureSigningKeys, retiredRecords, rotateSigningKeys, signingRecords } from '../signing-keys.ts'
import { createBreaker } from './breaker.ts'
import type { Claimed } from './broadcast.ts'
import { expandOne } from './expand.ts'
import { MessageRoom } from './message-room.ts'
import { BroadcastGone, createRenderer } from './render.ts'

const app = await startApp({ ROLES: 'http' })
const { database, clock } = app.services
const domain = app.config.MAIL_DOMAIN
const breaker = createBreaker(app.services)
const renderer = createRenderer({ ...app.services, breaker })

/** The selectors that a message is signed with. */
const selectorsOf = async (delivery: Claimed): Promise<string[]> => {
  const { message } = await renderer.render(delivery)
  const fields = Buffer.concat(message).toString('latin1').split('\r\n\r\n')[0] ?? ''
  return [...fields.matchAll(/[;\s]s=([a-z0-9]+)/g)].map((found) => String(found[1])).sort()
}
const selectorsInDns = async () => (await signingRecords(database, domain)).map(({ name }) => String(name.split('.')[0])).sort()

test('a long broadcast signs with a new key within a minute; the old records stay for a while', async () => {
  const { project, path } = await newPost(app, { subscribers: 1 })
  const wanted = { project_id: project.id, domain, algorithms: ['rsa-sha256', 'ed25519-sha256'] as DkimAlgorithm[] }
  await ensureSigningKeys(app.services, wanted)
  const first = await selectorsInDns()
  await project.post(`${path}/send`)
  await expandOne(database)
  const [delivery] = await database.many<Claimed>`select * from deliveries where project_id = ${project.id}`
  assert.ok(delivery)
  assert.deepEqual(await selectorsOf(delivery), first)

  // Twice on one day, and both algorithms whichever is named.
  await rotateSigningKeys(app.services, { ...wanted, algorithms: ['rsa-sha256'] })
  await rotateSigningKeys(app.services, { ...wanted, algorithms: ['rsa-sha256'] })
  const last = await selectorsInDns()
  assert.equal(last.length, 2)
  assert.deepEqual(
    last.filter((selector) => first.includes(selector)),
    [],
  )
  assert.deepEqual(await selectorsOf(delivery), first)
  app.clock.advance(61_000)
  assert.deepEqual(await selectorsOf(delivery), last)

  const retired = await retiredRecords(database, domain, clock.now())
  assert.equal(retired.length, 4)
  assert.ok(retired.every(({ name }) => !last.includes(String(name.split('.')[0]))))
  assert.ok(retired.every(({ until }) => until > clock.now()))
  app.clock.advance(15 * 86_400_000)
  assert.deepEqual(await retiredRecords(database, domain, clock.now()), [])
})

test('of a broadcast that is gone nothing is put together', async () => {
  const delivery = { project_id: (await app.newProject()).id, broadcast_id: newId() as BroadcastId } as Claimed
  await assert.rejects(renderer.render(delivery), BroadcastGone)
})

async function deliveriesOf(body: object, subscribers: number): Promise<Claimed[]> {
  const { project, path } = await newPost(app, { subscribers, body })
  assert.equal((await project.post(`${path}/send`)).status, 202)
  await expandOne(database)
  return database.many<Claimed>`select * from deliveries where project_id = ${project.id} order by id`
}

test('what the author wrote is not compiled here: what was compiled when it was sent goes out', async () => {
  const [delivery] = await deliveriesOf({ body_html: '<p>Dear {{ name }}</p><a href="https://a.test/">a</a>' }, 1)
  assert.ok(delivery)
  const changed = await database.run`
    update broadcasts set source = jsonb_set(source, '{post,html}', '"<p>Other</p>"') where id = ${delivery.broadcast_id}`
  assert.equal(changed, 1)
  const { message } = await renderer.render(delivery)
  const mail = Buffer.concat(message).toString()
  assert.match(mail, /Dear=20=\r\nReader 1/)
  assert.doesNotMatch(mail, /Other/)
  assert.deepEqual(await database.many`select number, url from broadcast_links where broadcast_id = ${delivery.broadcast_id}`, [
    { number: 0, url: 'https://a.test/' },
  ])
})

test('messages of so many octets are in memory at once, and the next ones wait for them', async () => {
  const deliveries = await deliveriesOf({ body_text: 'x'.repeat(60_000) }, 3)
  const narrow = createRenderer({ ...app.services, breaker, room: new MessageRoom(100_000) })
  const done: number[] = []
  const rendering = deliveries.map((delivery, index) =>
    narrow.render(delivery).then((rendered) => {
      done.push(index)
      return rendered
    }),
  )
  const first = await (rendering[0] as (typeof rendering)[number])
  await rendering[1]
  await setImmediate()
  assert.deepEqual(done.sort(), [0, 1])
  first.release()
  first.forget()
  await rendering[2]
  assert.deepEqual(done.sort(), [0, 1, 2])
})
