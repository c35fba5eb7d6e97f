import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newId } from '../../base/ids.ts'
import { releaseEmails, reserveEmails } from './index.ts'

const clock = createTestClock()
const app = await startApp({}, { clock })
/** A second process on the same database. */
const other = await startApp({ ROLES: 'http' }, { connection: app.connection, clock })

interface Terms {
  plan?: string
  overage_enabled?: boolean
  overage_cap_mills?: number | null
}

const setTerms = ({ id }: TestProject, { plan = 'free', overage_enabled = false, overage_cap_mills = null }: Terms) =>
  app.services.database.run`
    update projects set plan = ${plan}, overage_enabled = ${overage_enabled}, overage_cap_mills = ${overage_cap_mills} where id = ${id}`

async function newProject(terms: Terms = {}): Promise<TestProject> {
  const project = await app.newProject()
  await setTerms(project, terms)
  return project
}

const reserve = ({ id }: TestProject, count: number, { paidFor = 0, at = app } = {}) =>
  at.services.database.transaction((tx) => reserveEmails(at.services, tx, { project_id: id, reservation_id: newId(), count, paidFor }))
const release = ({ id }: TestProject, reservation_id: string, count: number) =>
  app.services.database.transaction((tx) => releaseEmails(tx, { project_id: id, reservation_id, count }))

async function reserved(project: TestProject, count: number, options = {}): Promise<string> {
  const outcome = await reserve(project, count, options)
  assert.equal(outcome.outcome, 'reserved', JSON.stringify(outcome))
  return (outcome as { reservation_id: string }).reservation_id
}

const usage = async (project: TestProject) => {
  const { status, body } = await project.get('/usage')
  assert.equal(status, 200)
  return body
}
const counts = async (project: TestProject) => {
  const { emails_sent, emails_remaining, overage } = await usage(project)
  return [emails_sent, emails_remaining, overage.count]
}

test('two hundred at once for the last hundred, on two nodes: a hundred win', async () => {
  const project = await newProject()
  const outcomes = await Promise.all(Array.from({ length: 200 }, (_, index) => reserve(project, 1, { at: index % 2 ? app : other })))
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'reserved').length, 100)
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'limit_exceeded').length, 100)
  assert.deepEqual(await counts(project), [100, 0, 0])
})

test('two broadcasts race for the last hundred: one wins, and the other is told by how much it lost', async () => {
  for (let round = 0; round < 5; round++) {
    const project = await newProject()
    const outcomes = await Promise.all([reserve(project, 100), reserve(project, 100, { at: other })])
    assert.deepEqual(outcomes.map(({ outcome }) => outcome).sort(), ['limit_exceeded', 'reserved'])
    assert.equal(
      outcomes.map((one) => ('excess' in one ? one.excess : 0)).reduce((a, b) => a + b),
      100,
    )
    assert.deepEqual(await counts(project), [100, 0, 0])
  }
})

test('odd sizes racing never book more than there is, and what lost leaves no trace', async () => {
  const project = await newProject()
  const sizes = Array.from({ length: 60 }, (_, index) => (index % 7) + 1)
  const outcomes = await Promise.all(sizes.map((size, index) => reserve(project, size, { at: index % 2 ? app : other })))
  const won = sizes.filter((_, index) => outcomes[index]?.outcome === 'reserved').reduce((a, b) => a + b)
  assert.ok(won <= 100 && won > 93, String(won))
  assert.deepEqual(await counts(project), [won, 100 - won, 0])
  const rows = await app.services.database.many<{ count: number }>`select count from usage_reservations where project_id = ${project.id}`
  assert.equal(
    rows.reduce((sum, row) => sum + row.count, 0),
    won,
  )
})

test('all or none: a send that fits in part takes nothing', async () => {
  const project = await newProject()
  await reserved(project, 60)
  assert.deepEqual(await reserve(project, 41), { outcome: 'limit_exceeded', excess: 1 })
  assert.deepEqual(await counts(project), [60, 40, 0])
  await reserved(project, 40)
  assert.deepEqual(await counts(project), [100, 0, 0])
})

test('what was not used goes back, once, and no more than was booked', async () => {
  const project = await newProject()
  const id = await reserved(project, 100)
  await release(project, id, 30)
  assert.deepEqual(await counts(project), [70, 30, 0])
  await release(project, id, 1000)
  assert.deepEqual(await counts(project), [0, 100, 0])
  await release(project, id, 5)
  assert.deepEqual(await counts(project), [0, 100, 0])
  const stranger = await newProject()
  const theirs = await reserved(stranger, 10)
  await release(project, theirs, 10)
  assert.deepEqual(await counts(stranger), [10, 90, 0])
})

test('overage comes after the plan, and goes back before it', async () => {
  const project = await newProject({ overage_enabled: true })
  await reserved(project, 90)
  const id = await reserved(project, 30)
  assert.deepEqual(await counts(project), [120, 0, 20])
  await release(project, id, 15)
  assert.deepEqual(await counts(project), [105, 0, 5])
  await release(project, id, 15)
  assert.deepEqual(await counts(project), [90, 10, 0])
})

test('the cap is exact: to the last thousandth of a dollar, and under a race', async () => {
  const project = await newProject({ overage_enabled: true, overage_cap_mills: 150 })
  await reserved(project, 100)
  assert.deepEqual(await reserve(project, 51), { outcome: 'spending_cap_reached', excess: 51 })
  const outcomes = await Promise.all(Array.from({ length: 80 }, (_, index) => reserve(project, 1, { at: index % 2 ? app : other })))
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'reserved').length, 50)
  const { overage } = await usage(project)
  assert.deepEqual(overage, { enabled: true, count: 50, rate: 0.003, cost: 0.15, cap: 0.15, cap_remaining: 0 })
  await setTerms(project, { overage_enabled: true, overage_cap_mills: 0 })
  assert.equal((await reserve(project, 1)).outcome, 'spending_cap_reached')
})

test('what was paid for at once is neither of the plan nor overage, and stays when it was not used', async () => {
  const project = await newProject()
  await reserved(project, 100)
  const id = await reserved(project, 20, { paidFor: 20 })
  assert.deepEqual(await counts(project), [120, 0, 0])
  await release(project, id, 5)
  assert.deepEqual(await counts(project), [115, 5, 0])
  await reserved(project, 5)
  assert.equal((await reserve(project, 1)).outcome, 'limit_exceeded')
})

test('an upgrade counts at once, and a downgrade leaves no debt', async () => {
  const project = await newProject()
  await reserved(project, 100)
  assert.equal((await reserve(project, 1)).outcome, 'limit_exceeded')
  await setTerms(project, { plan: 'light' })
  await reserved(project, 900)
  assert.deepEqual(await counts(project), [1000, 1000, 0])
  await setTerms(project, { plan: 'free' })
  assert.deepEqual(await counts(project), [1000, 0, 0])
  assert.deepEqual(await reserve(project, 2), { outcome: 'limit_exceeded', excess: 2 })
})

test('a plan that the configuration does not know counts as the free one', async () => {
  const project = await newProject({ plan: 'discontinued' })
  await reserved(project, 100)
  assert.deepEqual(await reserve(project, 1), { outcome: 'limit_exceeded', excess: 1 })
})

test('the owner of the installation has no limit, and is counted all the same', async () => {
  const project = await newProject({ plan: 'unlimited' })
  await Promise.all(Array.from({ length: 20 }, () => reserved(project, 10_000)))
  const { plan, emails_included, emails_sent, emails_remaining } = await usage(project)
  assert.deepEqual([plan, emails_included, emails_sent, emails_remaining], ['unlimited', null, 200_000, null])
  const [owner] = await app.services.database.many<{ plan: string }>`
    select p.plan from projects p join instance i on i.owner_project_id = p.id`
  assert.equal(owner?.plan, 'unlimited')
})

test('where nothing can be charged, overage opens no door', async () => {
  const off = await startApp({ PAYMENTS: 'off', ROLES: 'http' }, { connection: app.connection })
  const project = await newProject({ overage_enabled: true })
  await reserved(project, 100)
  assert.deepEqual(await reserve(project, 1, { at: off }), { outcome: 'limit_exceeded', excess: 1 })
  await off.stop()
})

test('with the month everything begins anew, in UTC, and what comes back goes to the month it came from', async () => {
  const project = await newProject({ overage_enabled: true })
  const start = new Date(clock.now())
  const next = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1)
  clock.advance(next - 1000 - clock.now().getTime())
  const late = await reserved(project, 110)
  const before = await usage(project)
  assert.equal(before.period_end, new Date(next).toISOString())
  clock.advance(2000)
  const after = await usage(project)
  assert.deepEqual([after.period_start, after.emails_sent, after.emails_remaining], [new Date(next).toISOString(), 0, 100])
  await reserved(project, 1)
  await release(project, late, 20)
  assert.deepEqual(await counts(project), [1, 99, 0])
  const old = await app.services.database.first<{ used: number; overage: number }>`
    select used, overage from usage_periods where project_id = ${project.id} and period_start < ${new Date(next)}`
  assert.deepEqual(old, { used: 90, overage: 0 })
  assert.deepEqual(await project.events(), [])
})
