import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveBy, readBy } from '../../../tests/support/engagement.ts'
import { fileMail, newMailbox } from '../../../tests/support/inbound.ts'
import { toNoon } from '../../../tests/support/noon.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { importReaders, newList } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newSentPost, recipientsOf, type TestRecipient } from '../../../tests/support/recipients.ts'
import { bounceAbout, complaintAbout } from '../../../tests/support/reports.ts'
import { until } from '../../../tests/support/until.ts'
import { parseId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import { repairBroadcastHours, wrongHours } from '../../delivery/broadcast/repair-hours.ts'
import { repairBroadcastCounts } from '../../delivery/broadcast/retention.ts'
import { wrongContactCounts } from '../contacts/contact-counter.ts'
import { repairContacts, wrongTotals } from '../contacts/repair-contacts.ts'
import { repairCounters } from '../lists/index.ts'
import { wrongCounts } from '../lists/list-counters.ts'
import { wrongDays } from '../lists/list-days.ts'
import { emptyMailbox } from '../mailboxes/empty-mailbox.ts'

const app = await startApp()
const { database } = app.services

/** What the night would tell, in place of the log. */
function listening(): { night: { database: typeof database; log: Log; now: Date }; told: object[] } {
  const told: object[] = []
  const tell = (data: object) => told.push(data)
  const log = { ...app.services.log, warn: tell, error: (data: object) => assert.fail(JSON.stringify(data)) } as unknown as Log
  return { told, night: { database, log, now: app.clock.now() } }
}

/** Every count is held against what it counts. Nothing else runs here, so all of them must be right, of whichever project. */
async function allProved(): Promise<void> {
  const proofs = {
    counts: await wrongCounts(database),
    days: await wrongDays(database),
    contacts: await wrongContactCounts(database),
    totals: await wrongTotals(database, new Date(0)),
    hours: await wrongHours(database, new Date(0)),
  }
  assert.deepEqual(proofs, { counts: [], days: [], contacts: [], totals: [], hours: [] })
  const { night, told } = listening()
  await repairBroadcastCounts(night)
  assert.deepEqual(told, [])
}

/** The same row of numbers each time, so that a failure can be seen again. */
function dice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return Math.floor((state / 2 ** 32) * sides)
  }
}

const about = ({ tokens, email }: TestRecipient) => ({ token: tokens.return_path, email })

test('whatever people and programs do, in whichever order and several at once, every count is right', async () => {
  const { project, list } = await newList(app)
  const roll = dice(7)
  await importReaders(project, list.id, 30)
  await project.patch(`/lists/${list.id}`, { track_opens: true, track_clicks: true })
  const { body: post } = await project.post(`/lists/${list.id}/posts`, {
    subject: 'Hello',
    body_html: '<p><a href="https://example.org/a">A</a> <a href="https://example.org/b">B</a></p>',
  })
  await project.post(`/lists/${list.id}/posts/${post.id}/send`)
  await until('it to be sent', async () => (await project.get(`/lists/${list.id}/posts/${post.id}`)).body.status === 'sent')
  app.clock.advance(3_000)
  const recipients = await recipientsOf(app, project, post.id)
  const subscribers: { id: string }[] = (await project.get(`/lists/${list.id}/subscribers?limit=200`)).body
  const someone = () => recipients[roll(recipients.length)] as TestRecipient
  const member = () => `/lists/${list.id}/subscribers/${subscribers[roll(subscribers.length)]?.id}`
  const deeds: (() => Promise<unknown>)[] = [
    () => readBy(app, project, someone(), 'open'),
    () => readBy(app, project, someone(), roll(2)),
    () => bounceAbout(app, about(someone())),
    () => complaintAbout(app, about(someone())),
    () => leaveBy(app, someone()),
    () => project.patch(member(), { status: roll(2) === 0 ? 'active' : 'unsubscribed' }),
    () => project.delete(member()),
    () => project.post(`/lists/${list.id}/subscribers`, { email: `new-${roll(20)}@example.org`, verified: roll(2) === 0 }),
    () => eraseSomebody(project, roll),
  ]
  for (let round = 0; round < 12; round++) {
    await Promise.all(Array.from({ length: 6 }, () => (deeds[roll(deeds.length)] as () => Promise<unknown>)()))
    if (round % 4 === 3) app.clock.advance(86_400_000)
  }
  // Written after all that was noted before it.
  const marker = await newSentPost(app)
  await readBy(app, marker.project, marker.first, 'open')
  await allProved()
  const { body: stats } = await project.get(`/stats/${list.id}`)
  const { body: series } = await project.get(`/stats/${list.id}/series`)
  assert.equal(series.at(-1).active, stats.subscribers.active)
  const { total_sent, total_delivered, total_opened, total_clicked } = stats.deliveries
  for (const [name, total] of Object.entries({
    sent: total_sent,
    delivered: total_delivered,
    opened: total_opened,
    clicked: total_clicked,
  }))
    assert.equal(
      series.reduce((sum: number, point: Record<string, number>) => sum + (point[name] ?? 0), 0),
      total,
      name,
    )
})

async function eraseSomebody(project: TestProject, roll: (sides: number) => number): Promise<void> {
  const { body } = await project.get('/contacts?limit=200')
  if (body.length > 20) await project.delete(`/contacts/${body[roll(body.length)].id}`)
}

test('counts that are off are found and mended, each told once, and nobody has come or left by that', async () => {
  toNoon(app)
  const { project, list, path, first } = await newSentPost(app, { subscribers: 3 })
  await readBy(app, project, first, 'open', 0)
  const { body: before } = await project.get(`/stats/${list.id}/series`)
  const { body: stats } = await project.get(`${path}/stats`)
  const list_id = parseId('lst', list.id)
  await database.run`update list_counters set active = active + 5 where project_id = ${project.id} and list_id = ${list_id}`
  await database.run`update project_counters set contacts = contacts - 2 where project_id = ${project.id}`
  await database.run`update broadcast_links set unique_clicks = 9 where project_id = ${project.id} and number = 1`
  await database.run`update broadcasts set opened = 3, unsubscribed = 2 where project_id = ${project.id}`
  await database.run`update broadcast_hours set delivered = delivered + 1 where project_id = ${project.id} and delivered > 0`
  const { night, told } = listening()
  const services = { ...app.services, log: night.log }
  await repairCounters.run(services, {})
  await repairContacts.run(services, {})
  await repairBroadcastCounts(night)
  await repairBroadcastHours(night)
  assert.equal(told.length, 5, JSON.stringify(told))
  await allProved()
  assert.deepEqual((await project.get(`/stats/${list.id}/series`)).body, before)
  assert.deepEqual((await project.get(`${path}/stats`)).body, stats)
  const { body: links } = await project.get(`${path}/links`)
  assert.deepEqual(
    links.map(({ clicks, unique_clicks }: Record<string, number>) => [clicks, unique_clicks]),
    [
      [1, 1],
      [0, 0],
    ],
  )
})

test('days that do not add up to the active ones are mended on the day of the repair', async () => {
  const { project, list } = await newList(app, { subscribers: 2 })
  await database.run`delete from list_days where project_id = ${project.id}`
  const { night, told } = listening()
  await repairCounters.run({ ...app.services, log: night.log }, {})
  assert.deepEqual(told, [{ list_id: parseId('lst', list.id), active: 2 }])
  const { body } = await project.get(`/stats/${list.id}/series`)
  assert.deepEqual([body.at(-1).active, body.at(-1).subscribed, body.at(-2).active], [2, 0, 0])
  await allProved()
})

test('answers are proved against the mailboxes, also when one was emptied', async () => {
  const { project, address, id } = await newMailbox(app)
  const sent = await project.post('/emails', { from: address, to: 'ann@example.com', subject: 'Offer', text: 'Hi' })
  const headers = [`In-Reply-To: <${sent.body.provider_message_id}>`]
  for (const message_id of ['r1@example.com', 'r2@example.com']) await fileMail(app, { recipients: [address], message_id, headers })
  const ann = async () => (await project.get('/contacts?search=ann@')).body[0]
  assert.equal((await ann()).total_replies, 2)
  await allProved()
  await database.run`update contacts set total_replies = 7 where project_id = ${project.id}`
  const { night, told } = listening()
  await repairContacts.run({ ...app.services, log: night.log }, {})
  assert.partialDeepStrictEqual(told, [{ opens: 0, clicks: 0, replies: -5 }])
  assert.equal((await ann()).total_replies, 2)
  await project.delete(`/mailboxes/${id}`)
  await emptyMailbox(app.services, { project_id: project.id, id: parseId('mbx', id) as never })
  assert.equal((await ann()).total_replies, 2)
  await allProved()
})
