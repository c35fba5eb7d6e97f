import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { sellingThrough, startStripePeer, type Turn } from '../../../tests/support/stripe-peer.ts'
import { newId } from '../../base/ids.ts'
import { releaseEmails } from '../usage/index.ts'
import { billOverage } from './index.ts'

const clock = createTestClock()
const peer = await startStripePeer(clock)
const app = await startApp(sellingThrough(peer), { clock })
const { database } = app.services
const day = 24 * 3_600_000

/** A subscriber who sent a thousand over the plan, in a month that is over. */
async function newDebtor(): Promise<TestProject> {
  const project = await app.newProject()
  await project.setPlan('free')
  assert.equal((await project.post('/billing/subscribe', { plan: 'light', payment_method_id: 'pm_card_visa' })).status, 201)
  await useUp(app, project, 1100)
  await database.run`update usage_periods set overage = 1000 where project_id = ${project.id}`
  clock.advance(34 * day)
  return project
}
const bill = () => billOverage.run(app.services, {})
const invoicesOf = ({ id }: TestProject) => [...peer.invoices.values()].filter(({ metadata }) => metadata.project_id === id)
const billedAt = async ({ id }: TestProject) =>
  (await database.first<{ billed_at: Date | null }>`select billed_at from usage_periods where project_id = ${id}`)?.billed_at

test('an invoice with one item, which Stripe then collects by itself', async () => {
  const project = await newDebtor()
  const seen = peer.requests.length
  await bill()
  const [invoice, ...others] = invoicesOf(project)
  assert.deepEqual(others, [])
  assert.deepEqual([invoice?.status, invoice?.auto_advance], ['open', true])
  const month = invoice?.metadata.month ?? ''
  assert.match(month, /^\d{4}-\d\d$/)
  assert.deepEqual(invoice?.lines.data, [{ amount: 300, description: `1000 e-mails over the plan in ${month}` }])
  const [made] = peer.requests.slice(seen).filter(({ method, path }) => method === 'POST' && path === '/v1/invoices')
  // Nothing is collected before the item is on it, and nothing of theirs that waits elsewhere comes along.
  assert.deepEqual([made?.form.auto_advance, made?.form.pending_invoice_items_behavior], ['false', 'exclude'])
  assert.ok(await billedAt(project))
  const asked = peer.requests.length
  await bill()
  assert.equal(peer.requests.length, asked)
  assert.deepEqual(await project.events(), [])
})

/** Two tries lie a day apart, and by then Stripe has forgotten the key. */
const losses: [what: string, path: string, ...turns: Turn[]][] = [
  ['the question for an invoice', '/v1/invoices', 'lose'],
  ['the answer with the invoice', '/v1/invoices', 'drop'],
  ['the answer twice', '/v1/invoices', 'drop', 'fail'],
  ['the question for the item', '/v1/invoiceitems', 'lose'],
  ['the answer with the item', '/v1/invoiceitems', 'drop'],
  ['the question for the end', '/finalize', 'lose'],
  ['the answer at the end', '/finalize', 'drop'],
]
for (const [what, path, ...turns] of losses)
  test(`${what} is lost: there is one invoice in the end, with one item`, async () => {
    const project = await newDebtor()
    peer.next(path, ...turns)
    await bill()
    assert.equal(await billedAt(project), null)
    for (let later = 0; later < 3; later++) {
      clock.advance(day + 60_000)
      await bill()
    }
    assert.deepEqual(
      invoicesOf(project).map(({ status, lines }) => [status, lines.data.map(({ amount }) => amount)]),
      [['open', [300]]],
    )
    assert.ok(await billedAt(project))
  })

test('two at once make one', async () => {
  const project = await newDebtor()
  await Promise.all([bill(), bill()])
  await bill()
  assert.deepEqual(
    invoicesOf(project).map(({ status, lines }) => [status, lines.data.length]),
    [['open', 1]],
  )
})

test('once an invoice is begun, what is given back does not change what is billed', async () => {
  const project = await newDebtor()
  const period = await database.first<{ period_start: Date }>`select period_start from usage_periods where project_id = ${project.id}`
  const id = newId()
  await database.run`
    insert into usage_reservations (project_id, id, period_start, count, overage, created_at)
    values (${project.id}, ${id}, ${period?.period_start}, 10, 10, ${clock.now()})`
  peer.next('/finalize', 'lose')
  await bill()
  await database.transaction((tx) => releaseEmails(tx, { project_id: project.id, reservation_id: id, count: 10 }))
  await bill()
  const row = await database.first`select used::int, overage::int from usage_periods where project_id = ${project.id}`
  assert.deepEqual(row, { used: 1090, overage: 1000 })
  assert.deepEqual(
    invoicesOf(project)[0]?.lines.data.map(({ amount }) => amount),
    [300],
  )
})
