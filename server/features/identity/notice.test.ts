import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { ProjectId } from '../../base/ids.ts'
import { notifyOwner } from './index.ts'

const app = await startApp({ ROLES: 'http' })
const { database } = app.services
const dayMs = 86_400_000

type OwnerNotice = Parameters<typeof notifyOwner>[2]

const tell = async (
  project_id: ProjectId | null,
  kind: string,
  { times = 1, pace }: { times?: number; pace?: OwnerNotice['pace'] } = {},
) => {
  const notice = { project_id, kind, subject: 'Something happened', parts: ['By itself.'], ...(pace && { pace }) }
  for (let time = 0; time < times; time++) await database.transaction((tx) => notifyOwner(app.services, tx, notice))
}
const told = (kind: string) => database.many<{ recipient: string; text: string }>`
  select recipient, mail->>'text' as text from messages where kind = ${kind} order by created_at, id`

test('what comes and goes is told ten times a day, and the tenth says so', async () => {
  const project = await app.newProject()
  await tell(project.id, 'test_zone', { times: 12 })
  const texts = (await told('test_zone')).map(({ text }) => text)
  assert.equal(texts.length, 10)
  const last = 'By itself.\n\nThis is the 10th notice of its kind within a day: no more are mailed until tomorrow.'
  assert.deepEqual([texts.filter((text) => text === 'By itself.').length, texts.filter((text) => text === last).length], [9, 1])
  app.clock.advance(dayMs + 1)
  await tell(project.id, 'test_zone')
  assert.equal((await told('test_zone')).length, 11)
})

test('what is told once for each thing gets through ten times as often, and what is scarce always', async () => {
  const project = await app.newProject()
  await tell(project.id, 'test_post', { times: 102, pace: 'once' })
  assert.equal((await told('test_post')).length, 100)
  await tell(project.id, 'test_certificate', { times: 102, pace: 'scarce' })
  assert.equal((await told('test_certificate')).length, 102)
})

test('it goes to who owns the project, or the installation; an agent that nobody has claimed has nobody', async () => {
  const project = await app.newProject()
  await tell(project.id, 'test_owner')
  assert.deepEqual(
    (await told('test_owner')).map(({ recipient }) => recipient),
    [project.email],
  )
  await database.run`
    update users set email = 'first@example.org', email_key = 'first@example.org'
    where id = (select p.owner_id from instance i join projects p on p.id = i.owner_project_id)`
  await tell(null, 'test_installation')
  assert.deepEqual(
    (await told('test_installation')).map(({ recipient }) => recipient),
    ['first@example.org'],
  )
  await database.run`update users set email = null, email_key = null, kind = 'agent' where email = ${project.email}`
  await tell(project.id, 'test_agent')
  assert.deepEqual(await told('test_agent'), [])
})
