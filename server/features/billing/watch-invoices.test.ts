import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type Invoice, sellingThrough, startStripePeer } from '../../../tests/support/stripe-peer.ts'
import { billOverage, watchInvoices } from './index.ts'

const clock = createTestClock()
const peer = await startStripePeer(clock)
const app = await startApp(sellingThrough(peer), { clock })
const { database } = app.services
const day = 24 * 3_600_000

/** A subscriber with overage, whose invoice for a month that is over was sent. */
async function newDebtor(): Promise<{ project: TestProject; invoice: Invoice }> {
  const project = await app.newProject()
  await project.setPlan('free')
  assert.equal((await project.post('/billing/subscribe', { plan: 'light', payment_method_id: 'pm_card_visa' })).status, 201)
  await useUp(app, project, 3000)
  await project.setPlan('light')
  await database.run`update usage_periods set overage = 1000 where project_id = ${project.id}`
  assert.equal((await project.post('/settings/overage', { overage_enabled: true })).status, 200)
  clock.advance(34 * day)
  await billOverage.run(app.services, {})
  const invoice = [...peer.invoices.values()].find(({ metadata }) => metadata.project_id === project.id)
  return { project, invoice: invoice ?? assert.fail('no invoice') }
}
const watch = () => watchInvoices.run(app.services, {})
const hasOverage = async (project: TestProject) => (await project.get('/settings/overage')).body.overage_enabled
const audits = ({ id }: TestProject) => database.many`
  select operation, user_id, target->>'invoice_id' as invoice_id from audit_log where project_id = ${id} and operation = 'billing.overage_unpaid'`

test('an invoice that the card did not pay ends overage, until it is paid', async () => {
  const { project, invoice } = await newDebtor()
  await watch()
  assert.equal(await hasOverage(project), true, 'nobody has tried the card yet')
  invoice.attempted = true
  await watch()
  await watch()
  assert.equal(await hasOverage(project), false)
  assert.deepEqual(await audits(project), [{ operation: 'billing.overage_unpaid', user_id: null, invoice_id: invoice.id }])
  const refused = await project.post('/settings/overage', { overage_enabled: true })
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^overage_enabled: .*invoice for [\d-]+ is not paid/)
  invoice.status = 'paid'
  await watch()
  assert.equal(await hasOverage(project), false, 'nobody switches it on but they')
  assert.equal((await project.post('/settings/overage', { overage_enabled: true })).status, 200)
  const asked = peer.requests.length
  await watch()
  assert.equal(peer.requests.length, asked)
  assert.deepEqual(await project.events(), [])
})

test('given up, it is unpaid; void, nothing is owed; not to be found out, nothing changes', async () => {
  const [given, voided, unclear] = [await newDebtor(), await newDebtor(), await newDebtor()]
  given.invoice.status = 'uncollectible'
  voided.invoice.status = 'void'
  Object.assign(unclear.invoice, { attempted: true })
  peer.next(`/v1/invoices/${unclear.invoice.id}`, 'fail')
  await watch()
  assert.deepEqual(await Promise.all([given, voided, unclear].map(({ project }) => hasOverage(project))), [false, true, true])
  await watch()
  assert.equal(await hasOverage(unclear.project), false)
})
