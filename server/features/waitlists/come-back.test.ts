import assert from 'node:assert/strict'
import { test } from 'node:test'
import { registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { speaking } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { confirmByMail, linkFor, newPerson, newWaitlist, type TestWaitlist } from '../../../tests/support/waitlists.ts'
import { repairLine } from '../waiting-lines/index.ts'

const app = await startApp()

interface Somebody {
  list: TestWaitlist
  email: string
  subscriber: string
}

/** Invited, and accepted if they like; another one waits. */
async function invited({ accepts }: { accepts: boolean }): Promise<Somebody> {
  const list = await newWaitlist(app)
  const email = newPerson('guest')
  const { subscriber_id } = await list.join(email)
  await confirmByMail(app, email)
  await list.join(newPerson('waits'))
  assert.deepEqual((await list.project.post(`${list.path}/invite`, { count: 1 })).body, { invited: 1 })
  const link = await linkFor(app, email, '/invited/')
  if (accepts) assert.match(await (await fetch(link, { method: 'POST' })).text(), /You are in/)
  return { list, email, subscriber: `${list.path}/subscribers/${subscriber_id}` }
}

const leave = ({ list, subscriber }: Somebody) => list.project.patch(subscriber, { status: 'unsubscribed' })
const numbers = async (list: TestWaitlist) => {
  const { waiting, invited, accepted, conversion_rate } = (await list.project.get(`${list.path}/stats`)).body
  return [waiting, invited, accepted, conversion_rate]
}
const invitations = async (email: string) =>
  (
    await app.services.database.first<{ count: number }>`
      select count(*) as count from messages where recipient = ${email} and kind = 'waitlist_invitation'`
  )?.count

for (const accepts of [false, true])
  test(`who was invited${accepts ? ', accepted' : ''} and left stays counted; who joins again waits at the end, and is invited again`, async () => {
    const somebody = await invited({ accepts })
    const { list, email, subscriber } = somebody
    await leave(somebody)
    const { body: gone } = await list.project.get(subscriber)
    assert.deepEqual([gone.status, gone.waitlist_status, gone.position], ['unsubscribed', null, null])
    const counted = accepts ? [1, 1, 1, 1] : [1, 1, 0, 0]
    assert.deepEqual(await numbers(list), counted)
    const line = { project_id: list.project.id, list_id: (await lineOf(list)) as never }
    await repairLine(app.services.database, line, app.clock.now())
    assert.deepEqual(await numbers(list), counted)

    const back = await list.join(email)
    assert.deepEqual([back.status, back.position], ['created', 2])
    assert.deepEqual((await list.standings())[email], ['waiting', 2])
    assert.deepEqual(await numbers(list), [2, 0, 0, 0])
    assert.match(await confirmByMail(app, email), /number <strong>2<\/strong>/)
    const old = await linkFor(app, email, '/invited/')
    assert.equal((await fetch(old)).status, 410)
    assert.deepEqual((await list.project.post(`${list.path}/invite`, { all: true })).body, { invited: 1 })
    await until('a second invitation', async () => (await invitations(email)) === 2)
    assert.match(await (await fetch(old, { method: 'POST' })).text(), /You are in/)
    assert.deepEqual(await numbers(list), [1, 1, 1, 1])
  })

const lineOf = async (list: TestWaitlist) =>
  (await app.services.database.first<{ list_id: string }>`select list_id from waitlist_lines where project_id = ${list.project.id}`)
    ?.list_id

test('the owner brings somebody back who had left: they wait at the end', async () => {
  const somebody = await invited({ accepts: true })
  const { list, email, subscriber } = somebody
  await leave(somebody)
  const { body } = await list.project.patch(subscriber, { status: 'active' })
  assert.deepEqual([body.status, body.waitlist_status, body.position], ['active', 'waiting', 2])
  assert.deepEqual((await list.standings())[email], ['waiting', 2])
  assert.deepEqual(await numbers(list), [2, 0, 0, 0])
})

test('who was taken off by a release that knew of no lines has left, once the line is held against its subscribers', async () => {
  const { list, email, subscriber } = await invited({ accepts: true })
  const { database } = app.services
  const line = { project_id: list.project.id, list_id: (await lineOf(list)) as never }
  const setStatus = (status: string) =>
    database.run`update subscribers set status = ${status} where project_id = ${line.project_id} and email = ${email}`
  await setStatus('unsubscribed')
  await repairLine(database, line, app.clock.now())
  assert.equal((await list.project.get(subscriber)).body.waitlist_status, null)
  assert.deepEqual(await numbers(list), [1, 1, 1, 1])
  await setStatus('active')
  await repairLine(database, line, app.clock.now())
  assert.deepEqual((await list.standings())[email], ['waiting', 2])
  assert.deepEqual(await numbers(list), [2, 0, 0, 0])
})

test('an agent that was invited, left and joins again waits again', async () => {
  const list = await newWaitlist(app)
  const agent = speaking(app.url, (await registerAnonymous(app)).credential)
  const { body: first } = await agent.post(`${list.path}/join`, {})
  await list.project.post(`${list.path}/invite`, { all: true })
  await list.project.patch(`${list.path}/subscribers/${first.subscriber_id}`, { status: 'unsubscribed' })
  const { body: again } = await agent.post(`${list.path}/join`, {})
  assert.deepEqual([again.status, again.subscriber_id, again.position], ['created', first.subscriber_id, 1])
  assert.deepEqual(await numbers(list), [1, 0, 0, 0])
})

test('who was invited and has lost the mail finds the invitation on their own page', async () => {
  const { list, email } = await invited({ accepts: false })
  const status = await linkFor(app, email, '/w/')
  const accept = /href="([^"]+\/invited\/[^"]+)"/.exec(await (await fetch(status)).text())?.[1] as string
  assert.match(await (await fetch(accept, { method: 'POST' })).text(), /You are in/)
  assert.deepEqual(await numbers(list), [1, 1, 1, 1])
})
