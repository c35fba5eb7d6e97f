import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, claimAs, registerAnonymous } from '../../../tests/support/agents.ts'
import { credentialFor, sender, startPayable, usageOf, useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newId } from '../../base/ids.ts'
import { releaseEmails, reserveEmails } from '../usage/index.ts'

/** A month may have more in it than its plan: the plan became smaller, or an agent brought its mail along. What is paid for goes out all the same. */
const clock = createTestClock()
const app = await startApp({}, { clock })
const troubles: (() => void | Promise<void>)[] = []
const url = await startPayable(app, async () => troubles.shift()?.())
const { database } = app.services

async function newSender(used: number) {
  const project = await app.newProject()
  await useUp(app, project, used)
  return { project, ...sender(url, project) }
}
const leftFor = async (project: TestProject) => (await project.get('/usage')).body.emails_remaining
const paidChallenges = async ({ id }: TestProject) =>
  (await database.many`select 1 from payment_challenges where project_id = ${id} and status = 'paid'`).length

test('after a downgrade each payment sends what it pays for, and leaves nothing over', async () => {
  const { project, send, sendAndPay } = await newSender(1000)
  for (let sent = 1; sent <= 3; sent++) {
    assert.equal((await sendAndPay({ count: 2 })).status, 202)
    assert.equal(await paidChallenges(project), sent)
    assert.equal(await leftFor(project), 0)
  }
  assert.deepEqual(await usageOf(app, project), { used: 1006, overage: 0, paid: 6 })
  assert.equal((await send({ count: 1 })).status, 402)
})

test('after a merge that brought more than there was room for, too', async () => {
  const project = await app.newProject()
  await useUp(app, project)
  const agent = await registerAnonymous(app)
  const start = new Date(Date.UTC(clock.now().getUTCFullYear(), clock.now().getUTCMonth(), 1))
  await database.run`insert into usage_periods (project_id, period_start, used, paid, paid_used) values (${asProject(agent.project_id)}, ${start}, 12, 5, 2)`
  await claimAs(app, agent.claim_token, project.email)
  const { send, sendAndPay } = sender(url, project)
  assert.equal(await leftFor(project), 3)
  assert.equal((await send({ count: 3 })).status, 202)
  assert.equal((await send({ count: 1 })).status, 402)
  assert.equal((await sendAndPay({ count: 1 })).status, 202)
  assert.deepEqual(await usageOf(app, project), { used: 116, overage: 0, paid: 6 })
})

test('charged, and then the work fails: the repeat costs nothing, however far over the plan the month is', async () => {
  const { project, send, pay } = await newSender(500)
  const credential = credentialFor(await send({ count: 4 }), 'spt_good')
  troubles.push(
    () => {},
    () => {
      throw new Error('trouble')
    },
  )
  assert.equal((await pay({ count: 4 }, credential)).status, 500)
  assert.equal(await leftFor(project), 4)
  assert.equal((await send({ count: 5 })).body.error.payment.emails, 1)
  assert.equal((await send({ count: 4 })).status, 202)
  assert.equal((await send({ count: 1 })).status, 402)
  assert.equal(await paidChallenges(project), 1)
})

test('what was paid for and did not leave may be sent again', async () => {
  const { project } = await newSender(500)
  const book = (count: number, paidFor = 0) =>
    database.transaction((tx) =>
      reserveEmails(app.services, tx, { project_id: project.id, mailbox_id: null, reservation_id: newId(), count, paidFor }),
    )
  const booked = await book(5, 5)
  assert.equal(booked.outcome, 'reserved')
  const { reservation_id } = booked as { reservation_id: string }
  for (const left of [2, 4])
    await database
      .transaction((tx) => releaseEmails(tx, { project_id: project.id, reservation_id, count: 2 }))
      .then(async () => assert.equal(await leftFor(project), left))
  assert.equal((await book(4)).outcome, 'reserved')
  assert.deepEqual(await book(1), { outcome: 'limit_exceeded', excess: 1 })
  assert.deepEqual(await usageOf(app, project), { used: 505, overage: 0, paid: 5 })
})

test('a small payment does not wipe out what was sent: with a larger plan again, it is still there', async () => {
  const { project, sendAndPay } = await newSender(1900)
  assert.equal((await sendAndPay({ count: 1 })).status, 202)
  await project.setPlan('light')
  assert.equal(await leftFor(project), 100)
})
