import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useUp } from '../../../tests/support/payable.ts'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

const thisMonth = () => {
  const now = app.clock.now()
  return [0, 1].map((ahead) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1)).toISOString())
}

test('before anything is sent, everything is left', async () => {
  const project = await app.newProject()
  await project.setPlan('free')
  const [period_start, period_end] = thisMonth()
  const { status, body } = await project.get('/usage')
  assert.equal(status, 200)
  assert.deepEqual(body, {
    ...{ plan: 'free', period_start, period_end, emails_included: 100, emails_sent: 0, emails_remaining: 100 },
    overage: { enabled: false, count: 0, rate: 0.003, cost: 0, cap: null, cap_remaining: null },
  })
  assert.deepEqual(await project.events(), [])
})

test('what was sent, billed later and paid for at once, each where it belongs', async () => {
  const project = await app.newProject()
  await useUp(app, project, 130)
  await app.services.database.run`update usage_periods set overage = 20, paid = 15, paid_used = 10 where project_id = ${project.id}`
  await project.post('/settings/overage', { overage_enabled: true, overage_cap: 1 })
  const { body } = await project.get('/usage')
  assert.deepEqual([body.emails_sent, body.emails_remaining], [130, 5])
  assert.deepEqual(body.overage, { enabled: true, count: 20, rate: 0.003, cost: 0.06, cap: 1, cap_remaining: 0.94 })
})

test('a single mail counts, and one that could not leave does not', async () => {
  const project = await app.newProject()
  await project.setPlan('free')
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  const mail = { from: list.mailbox_address, to: 'reader@example.org', subject: 'Hello', text: 'Hello' }
  assert.equal((await project.post('/emails', mail)).status, 201)
  assert.equal((await project.post('/emails', { ...mail, to: 'not an address' })).status, 422)
  assert.equal((await project.get('/usage')).body.emails_sent, 1)
})

test('another project’s mail is not in it', async () => {
  const [ours, theirs] = [await app.newProject(), await app.newProject()]
  await useUp(app, theirs, 50)
  assert.equal((await ours.get('/usage')).body.emails_sent, 0)
})
