import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { confirmByMail, linkFor, newPerson, newWaitlist } from '../../../tests/support/waitlists.ts'
import { tendWaitlists } from './tend-waitlists.ts'

const app = await startApp()
const dayMs = 24 * 3_600_000

test('who has not confirmed for two weeks leaves the line, and stands at its end when they do', async () => {
  const list = await newWaitlist(app)
  const [late, ann, ben] = [newPerson('late'), newPerson(), newPerson()]
  await list.join(late)
  await linkFor(app, late, '/confirm/')
  await list.join(ann)
  await confirmByMail(app, ann)
  app.clock.advance(13 * dayMs)
  await list.join(ben)
  await tendWaitlists.run(app.services, {})
  assert.deepEqual(await list.standings(), { [late]: ['waiting', 1], [ann]: ['waiting', 2], [ben]: ['waiting', 3] })
  app.clock.advance(2 * dayMs)
  await tendWaitlists.run(app.services, {})
  assert.deepEqual(await list.standings(), { [late]: [null, null], [ann]: ['waiting', 1], [ben]: ['waiting', 2] })
  await confirmByMail(app, late)
  assert.deepEqual((await list.standings())[late], ['waiting', 3])
  assert.deepEqual((await list.project.get(`${list.path}/stats`)).body.waiting, 3)
})

test('a line that an older release has changed without knowing is mended', async () => {
  const list = await newWaitlist(app)
  const people = [newPerson(), newPerson(), newPerson(), newPerson()]
  for (const email of people) await list.join(email)
  const { database } = app.services
  const { id: project_id } = list.project
  await database.run`update subscribers set status = 'unsubscribed' where project_id = ${project_id} and email = ${people[0]}`
  await database.run`delete from subscribers where project_id = ${project_id} and email = ${people[1]}`
  await database.run`
    delete from waitlist_entries where project_id = ${project_id} and subscriber_id = (
      select id from subscribers where project_id = ${project_id} and email = ${people[2]})`
  await database.run`update waitlist_buckets set waiting = 77 where project_id = ${project_id}`
  await tendWaitlists.run(app.services, {})
  const [a, , c, d] = people as [string, string, string, string]
  assert.deepEqual(await list.standings(), { [a]: [null, null], [c]: ['waiting', 2], [d]: ['waiting', 1] })
  assert.deepEqual((await list.project.get(`${list.path}/stats`)).body.waiting, 2)
})

test('with its list a line goes', async () => {
  const list = await newWaitlist(app)
  const { referral_url } = await list.join(newPerson())
  await list.project.delete(list.path)
  assert.equal((await list.project.post(`${list.path}/join`, { email: newPerson() })).status, 404)
  assert.equal((await fetch(referral_url)).status, 404)
})
