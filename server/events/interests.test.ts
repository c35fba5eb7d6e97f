import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { until } from '../../tests/support/until.ts'
import type { ProjectId } from '../base/ids.ts'
import type { EventType } from './catalogue.ts'
import { dropInterest, joinInterests, setInterest, wantedEvents, whoWants } from './interests.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services

const set = (project_id: ProjectId, consumer: string, ...types: EventType[]) =>
  database.transaction((tx) => setInterest(tx, { project_id, consumer, types }))
const wanted = async (project_id: ProjectId) => [...(await wantedEvents(database, project_id))].sort()
const untilWanted = (project_id: ProjectId, types: EventType[]) =>
  until(`${types} to be wanted`, async () => JSON.stringify(await wanted(project_id)) === JSON.stringify(types))

test('what several consumers want is wanted as long as one of them does', async () => {
  const { id } = await app.newProject()
  await set(id, 'one', 'email.sent', 'email.opened')
  await set(id, 'two', 'email.opened', 'email.clicked')
  await untilWanted(id, ['email.clicked', 'email.opened', 'email.sent'])
  await database.transaction((tx) => dropInterest(tx, { project_id: id, consumer: 'one' }))
  await untilWanted(id, ['email.clicked', 'email.opened'])
  await set(id, 'two')
  await untilWanted(id, [])
})

test('a project’s interest is its own', async () => {
  const [mine, other] = [await app.newProject(), await app.newProject()]
  await set(mine.id, 'one', 'email.sent', 'email.opened')
  assert.deepEqual(await wanted(other.id), [])
  const wanting = await whoWants(database, [mine.id, other.id, mine.id], ['email.delivered', 'email.opened'])
  assert.deepEqual([...wanting], [[mine.id, ['email.opened']]])
  assert.equal((await whoWants(database, [mine.id, other.id], ['email.clicked'])).size, 0)
})

test('when two projects become one, nobody’s interest is lost', async () => {
  const [from, to] = [await app.newProject(), await app.newProject()]
  await set(from.id, 'both', 'email.sent', 'email.opened')
  await set(to.id, 'both', 'email.opened', 'email.clicked')
  await set(from.id, 'webhook:1', 'email.bounced')
  await database.transaction((tx) => joinInterests(tx, { from: from.id, to: to.id }))
  const rows = await database.many<{ project_id: string; consumer: string; types: string[] }>`
    select project_id, consumer, types from event_interests where project_id in (${from.id}, ${to.id}) order by consumer`
  assert.deepEqual(
    rows.map(({ project_id, consumer, types }) => [project_id, consumer, types.sort()]),
    [
      [to.id, 'both', ['email.clicked', 'email.opened', 'email.sent']],
      [to.id, 'webhook:1', ['email.bounced']],
    ],
  )
})
