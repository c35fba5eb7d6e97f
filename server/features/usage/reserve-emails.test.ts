import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, claimAs, registerAnonymous } from '../../../tests/support/agents.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import { speaking, type TestProject } from '../../../tests/support/project.ts'
import { formatId, newId, type ProjectId, parseId } from '../../base/ids.ts'
import { purgeProject } from '../projects/index.ts'
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

const setTerms = ({ id }: Pick<TestProject, 'id'>, { plan = 'free', overage_enabled = false, overage_cap_mills = null }: Terms) =>
  app.services.database.run`
    update projects set plan = ${plan}, overage_enabled = ${overage_enabled}, overage_cap_mills = ${overage_cap_mills} where id = ${id}`

async function newProject(terms: Terms = {}): Promise<TestProject> {
  const project = await app.newProject()
  await setTerms(project, terms)
  return project
}

const reserve = ({ id }: Pick<TestProject, 'id'>, count: number, { paidFor = 0, at = app } = {}) =>
  at.services.database.transaction((tx) =>
    reserveEmails(at.services, tx, { project_id: id, mailbox_id: null, reservation_id: newId(), count, paidFor }),
  )
const release = ({ id }: TestProject, reservation_id: string, count: number) =>
  app.services.database.transaction((tx) => releaseEmails(tx, { project_id: id, reservation_id, count }))

async function reserved(project: Pick<TestProject, 'id'>, count: number, options = {}): Promise<string> {
  const outcome = await reserve(project, count, options)
  assert.equal(outcome.outcome, 'reserved', JSON.stringify(outcome))
  return (outcome as { reservation_id: string }).reservation_id
}

const usage = async (project: Pick<TestProject, 'get'>) => {
  const { status, body } = await project.get('/usage')
  assert.equal(status, 200)
  return body
}
const counts = async (project: Pick<TestProject, 'get'>) => {
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

/** One more project of the same owner, and a key for it. */
async function anotherOf(owner: TestProject, terms: Terms = {}) {
  const { body } = await owner.post('/api/projects', { name: 'Another' })
  const { body: token } = await owner.post('/api/tokens', { name: 'Bot', scope: 'read,write,send,admin', project_id: body.id })
  const another = { id: parseId('prj', body.id) as ProjectId, key: token.key as string, ...speaking(app.url, token.key) }
  await setTerms(another, terms)
  return another
}

test('free projects of one owner share one allowance, and each tells what is left of it', async () => {
  const first = await newProject()
  const second = await anotherOf(first)
  await reserved(first, 60)
  assert.deepEqual(await reserve(second, 41), { outcome: 'limit_exceeded', excess: 1 })
  await reserved(second, 40)
  assert.deepEqual(
    [await counts(first), await counts(second)],
    [
      [60, 0, 0],
      [40, 0, 0],
    ],
  )
  assert.deepEqual(await reserve(first, 1), { outcome: 'limit_exceeded', excess: 1 })
  await reserved(first, 3, { paidFor: 3 })
  assert.deepEqual(await counts(second), [40, 0, 0])
})

test('what is paid for, a plan that is bought and other owners have nothing to do with it', async () => {
  const first = await newProject({ plan: 'light' })
  const second = await anotherOf(first)
  await reserved(first, 2000)
  assert.deepEqual(await counts(second), [0, 100, 0])
  await reserved(second, 100)
  const stranger = await newProject()
  await reserved(stranger, 100)
  await setTerms(first, { plan: 'plus' })
  await reserved(first, 500)
  assert.equal((await reserve(second, 1)).outcome, 'limit_exceeded')
})

test('a project that is deleted and made again does not fill the allowance again', async () => {
  const home = await newProject()
  const farm = await anotherOf(home)
  await reserved(farm, 100)
  assert.equal((await farm.delete(`/api/projects/${formatId('prj', farm.id)}`)).status, 204)
  await purgeProject.run(app.services, { project_id: farm.id })
  const again = await anotherOf(home)
  assert.equal((await reserve(again, 1)).outcome, 'limit_exceeded')
  assert.deepEqual(await counts(again), [0, 0, 0])
})

test('a project that is passed on leaves behind what its owner has used', async () => {
  const home = await newProject()
  const passed = await anotherOf(home)
  await reserved(passed, 100)
  const heir = await newProject()
  await app.services.database.run`update projects set owner_id = ${heir.user_id} where id = ${passed.id}`
  assert.equal((await reserve(home, 1)).outcome, 'limit_exceeded')
  assert.deepEqual(await counts(heir), [0, 100, 0])
})

test('two projects of one owner race for the last, on two nodes: one wins', async () => {
  for (let round = 0; round < 5; round++) {
    const first = await newProject()
    const second = await anotherOf(first)
    await reserved(first, 99)
    const outcomes = await Promise.all([first, second, first, second].map((one, index) => reserve(one, 1, { at: index < 2 ? app : other })))
    assert.deepEqual(outcomes.map(({ outcome }) => outcome).sort(), ['limit_exceeded', 'limit_exceeded', 'limit_exceeded', 'reserved'])
  }
  const first = await newProject()
  const projects = [first, await anotherOf(first), await anotherOf(first)]
  const outcomes = await Promise.all(
    Array.from({ length: 150 }, (_, index) => reserve(projects[index % 3] ?? first, 1, { at: index % 2 ? app : other })),
  )
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'reserved').length, 100)
})

test('what an agent has sent counts once, where it was merged', async () => {
  const human = await newProject()
  const second = await anotherOf(human)
  const agent = await registerAnonymous(app)
  await reserved({ id: asProject(agent.project_id) }, 10)
  await claimAs(app, agent.claim_token, human.email)
  const merged = await app.services.database.first<{ used: number }>`
    select sum(used)::int as used from usage_periods u join projects p on p.id = u.project_id where p.owner_id = ${human.user_id}`
  assert.equal(merged?.used, 10)
  await reserved(second, 90)
  assert.equal((await reserve(human, 1)).outcome, 'limit_exceeded')
})
