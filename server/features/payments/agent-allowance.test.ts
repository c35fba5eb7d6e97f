import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claimAs, registerAnonymous } from '../../../tests/support/agents.ts'
import { credentialFor, usageOf } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import { speaking, type TestProject } from '../../../tests/support/project.ts'

/** An agent without the scope to send has the free plan's e-mails a month from its own mailbox, whatever plan its project is on. */
const clock = createTestClock()
const PLANS = '{"anonymous":3,"free":5,"light":50}'
const app = await startApp({ PLANS }, { clock })
const { database } = app.services

/** An agent whose things, and whose key, are in the project of a human now. */
async function newMerged(plan: string) {
  const project = await app.newProject()
  await project.setPlan(plan)
  const agent = await registerAnonymous(app)
  await claimAs(app, agent.claim_token, project.email)
  await project.events()
  return { project, key: agent.credential as string, agent: speaking(app.url, agent.credential), address: agent.mailbox.address as string }
}
let number = 0
const send = (
  who: Pick<TestProject, 'request'>,
  { headers = {}, ...mail }: { from?: string; to?: string; headers?: Record<string, string> } = {},
) =>
  who.request('POST', '/emails', {
    body: JSON.stringify({ to: `reader-${++number}@example.org`, subject: 'Hello', text: 'Hello', ...mail }),
    headers: { 'content-type': 'application/json', ...headers },
  })
const times = <Result>(count: number, work: () => Promise<Result>) => Promise.all(Array.from({ length: count }, work))
const sentBy = (answers: { status: number }[]) => answers.filter(({ status }) => status === 201).length

test('of a plan without a limit it may use five, exactly, also when it asks for many at once', async () => {
  const { project, agent, address } = await newMerged('unlimited')
  const answers = await times(12, () => send(agent))
  assert.equal(sentBy(answers), 5)
  const { status, body, headers } = answers.find((one) => one.status !== 201) as (typeof answers)[number]
  assert.deepEqual([status, body.error.code, body.error.payment.emails], [402, 'limit_exceeded', 1])
  assert.match(headers.get('www-authenticate') ?? '', /^Payment /)
  assert.match(body.error.message, /without the scope "send"/)
  // Five that settle at the same moment tell of themselves in between each other.
  assert.deepEqual((await project.events()).sort(), [...Array(5).fill('email.delivered'), ...Array(5).fill('email.sent')])
  // Those who may send are not held up, and do not use up what is the agent's.
  assert.equal(sentBy(await times(7, () => send(project, { from: address }))), 7)
  assert.equal((await usageOf(app, project))?.used, 12)
})

test('what others send from its mailbox is not counted against it', async () => {
  const { project, agent, address } = await newMerged('light')
  assert.equal(sentBy(await times(10, () => send(project, { from: address }))), 10)
  assert.equal(sentBy(await times(6, () => send(agent))), 5)
})

test('overage is not the agent’s to spend', async () => {
  const { project, agent, address } = await newMerged('free')
  await project.post('/settings/overage', { overage_enabled: true, overage_cap: null })
  assert.equal(sentBy(await times(4, () => send(project, { from: address }))), 4)
  assert.equal(sentBy(await times(3, () => send(agent))), 1)
  assert.equal((await send(project, { from: address })).status, 201)
  assert.deepEqual(await usageOf(app, project), { used: 6, overage: 1, paid: 0 })
})

test('a payment lifts the limit for its request; with the month everything begins anew', async () => {
  const { project, agent } = await newMerged('light')
  await times(5, () => send(agent))
  const to = 'payer@example.org'
  const credential = credentialFor(await send(agent, { to }), 'spt_good')
  const paid = await send(agent, { to, headers: { 'payment-authorization': credential } })
  assert.equal(paid.status, 201)
  assert.ok(paid.headers.get('payment-receipt'))
  assert.equal((await send(agent)).status, 402)
  assert.deepEqual(await usageOf(app, project), { used: 6, overage: 0, paid: 1 })
  const now = clock.now()
  clock.advance(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime())
  assert.equal((await send(agent)).status, 201)
})

test('what the human paid for and has not used is not the agent’s; what the agent paid for is', async () => {
  const { project, agent } = await newMerged('free')
  await times(5, () => send(agent))
  await database.run`update usage_periods set paid = 10 where project_id = ${project.id}`
  assert.equal((await send(agent)).status, 402)
  await database.run`
    update usage_reservations set paid_for = 2 where id = (select id from usage_reservations where project_id = ${project.id} limit 1)`
  assert.equal(sentBy(await times(4, () => send(agent))), 2)
})

test('where nothing is sold, it says whom to ask', async () => {
  const off = await startApp({ PLANS, PAYMENTS: 'off', ROLES: 'http' }, { connection: app.connection, clock })
  const { agent, key, project } = await newMerged('unlimited')
  await times(5, () => send(agent))
  await project.events()
  const { status, body, headers } = await send(speaking(off.url, key))
  assert.deepEqual([status, body.error.code, headers.get('www-authenticate')], [402, 'limit_exceeded', null])
  assert.match(body.error.message, /Ask the person it belongs to/)
  assert.deepEqual(await project.events(), [])
})
