import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readBy } from '../../../tests/support/engagement.ts'
import { toNoon } from '../../../tests/support/noon.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { importReaders, newList } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newSentPost, type TestRecipient } from '../../../tests/support/recipients.ts'
import { bounceAbout } from '../../../tests/support/reports.ts'
import { parseId } from '../../base/ids.ts'
import { repairCounters } from '../lists/index.ts'
import { wrongDays } from '../lists/list-days.ts'

const app = await startApp()
const { database } = app.services
const day = 86_400_000

const today = () => app.clock.now().toISOString().slice(0, 10)
const quiet = { subscribed: 0, unsubscribed: 0, bounced: 0, active: 0, sent: 0, delivered: 0, opened: 0, clicked: 0 }
const seriesOf = async (project: TestProject, path: string) => {
  const { status, body } = await project.get(path)
  assert.equal(status, 200, JSON.stringify(body))
  return body
}
const setStatus = async (project: TestProject, listId: string, email: string, status: string) => {
  const [{ id }] = (await project.get(`/lists/${listId}/subscribers?search=${email}`)).body
  assert.equal((await project.patch(`/lists/${listId}/subscribers/${id}`, { status })).status, 200)
}

test('a new list: thirty quiet days, and the project’s are the same', async () => {
  toNoon(app)
  const { project, list } = await newList(app)
  const body = await seriesOf(project, `/stats/${list.id}/series`)
  assert.equal(body.length, 30)
  assert.deepEqual(body.at(-1), { date: today(), ...quiet })
  assert.deepEqual(await seriesOf(project, '/stats/series'), body)
  assert.deepEqual(await project.events(), [])
})

test('growth and reading by day, week and month, with the number of active ones at the end of each', async () => {
  toNoon(app)
  const first = today()
  const { project, list, recipients } = await newSentPost(app, { subscribers: 4 })
  const [ann, bob, cy] = recipients as [TestRecipient, TestRecipient, TestRecipient]
  await readBy(app, project, ann, 'open')
  app.clock.advance(2 * day)
  const third = today()
  await readBy(app, project, ann, 0, 'open')
  await readBy(app, project, bob, 'open')
  await bounceAbout(app, { token: cy.tokens.return_path, email: cy.email })
  await setStatus(project, list.id, 'reader-4@', 'unsubscribed')
  await importReaders(project, list.id, 9)
  await project.post(`/lists/${list.id}/subscribers`, { email: 'pending@example.org' })
  app.clock.advance(day)
  await setStatus(project, list.id, 'reader-4@', 'active')
  const [{ id }] = (await project.get(`/lists/${list.id}/subscribers?search=reader-9@`)).body
  await project.delete(`/lists/${list.id}/subscribers/${id}`)
  const other = await newList(app, { project })
  await importReaders(project, other.list.id, 2)
  await project.events()

  const path = `/stats/${list.id}/series`
  const expected = [
    // The copy that bounced two days later was sent on this day, and is not among the delivered any more.
    { ...quiet, date: first, subscribed: 4, active: 4, sent: 4, delivered: 3, opened: 1 },
    { ...quiet, date: new Date(Date.parse(first) + day).toISOString().slice(0, 10), active: 4 },
    { ...quiet, date: third, subscribed: 5, unsubscribed: 1, bounced: 1, active: 7, opened: 1, clicked: 1 },
    { ...quiet, date: today(), subscribed: 1, active: 7 },
  ]
  assert.deepEqual(await seriesOf(project, `${path}?from=${first}`), expected)
  assert.deepEqual(await seriesOf(project, `${path}?from=${first}&to=${third}`), expected.slice(0, 3))
  assert.deepEqual(await seriesOf(project, `${path}?from=${first}&to=${first}`), expected.slice(0, 1))
  const all = await seriesOf(project, path)
  assert.deepEqual([all.length, all.slice(-4)], [30, expected])
  for (const interval of ['week', 'month']) {
    const points = await seriesOf(project, `${path}?from=${first}&interval=${interval}`)
    const sum = (name: string) => points.reduce((total: number, point: Record<string, number>) => total + (point[name] ?? 0), 0)
    assert.deepEqual([sum('subscribed'), sum('sent'), sum('opened'), points.at(-1).active], [10, 4, 2, 7], interval)
  }
  const together = await seriesOf(project, `/stats/series?from=${first}`)
  assert.deepEqual(together.at(-1), { ...expected[3], subscribed: 3, active: 9 })
  assert.deepEqual(together.slice(0, 3), expected.slice(0, 3))

  // The night makes one row of the slots of a day, and finds nothing to mend.
  await repairCounters.run(app.services, {})
  assert.deepEqual(await seriesOf(project, `${path}?from=${first}`), expected)
  const slots = await database.many`
    select 1 from list_days where project_id = ${project.id} and list_id = ${parseId('lst', list.id)} and slot <> 0 and day = ${first}::date`
  assert.deepEqual(slots, [])
  assert.deepEqual(
    (await wrongDays(database)).filter(({ project_id }) => project_id === project.id),
    [],
  )
  assert.deepEqual(await project.events(), [])
})

test('what cannot be meant is refused', async () => {
  const { project, list } = await newList(app)
  for (const query of [
    'from=yesterday',
    'to=2026-02-30',
    'interval=hour',
    'from=2999-01-01',
    'from=2020-01-01',
    'from=2026-01-02&to=2026-01-01',
  ])
    for (const path of [`/stats/${list.id}/series`, '/stats/series']) {
      const { status, body } = await project.get(`${path}?${query}`)
      assert.equal(status, 422, query)
      assert.match(body.error.message, /^(from|to|interval): /)
    }
  assert.deepEqual(await project.events(), [])
})
