import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type MailboxId, newId, parseId } from '../../base/ids.ts'
import { applyCalendar } from './apply-calendar.ts'

const app = await startApp()
const { database } = app.services

const lines = (name: string, start: string, more: string[]) =>
  [
    'BEGIN:VCALENDAR',
    'BEGIN:VEVENT',
    `UID:${name}`,
    `SUMMARY:${name}`,
    `DTSTART:${start}`,
    'DURATION:PT1H',
    ...more,
    'END:VEVENT',
    'END:VCALENDAR',
  ].join('\n')

const add = (project: TestProject, mailbox_id: string, name: string, start: string, ...more: string[]) =>
  database.transaction((tx) =>
    applyCalendar(tx, {
      project_id: project.id,
      mailbox_id: parseId('mbx', mailbox_id) as MailboxId,
      email_id: newId<'eml'>(),
      text: lines(name, start, more),
      from: 'ann@example.com',
      isForged: false,
      isProven: true,
    }),
  )

const titles = (body: { title: string }[]) => body.map(({ title }) => title)

test('by their beginning, a page at a time, of a span and of a mailbox', async () => {
  const project = await app.newProject()
  const [one, other] = await Promise.all(['One', 'Other'].map(async (name) => (await project.post('/mailboxes', { name })).body.id))
  await add(project, one, 'c', '20270303T100000Z')
  await add(project, one, 'a', '20270301T100000Z')
  await add(project, other, 'b', '20270302T100000Z')
  await add(project, other, 'weekly', '20270101T100000Z', 'RRULE:FREQ=WEEKLY')
  await add(project, one, 'same', '20270303T100000Z')
  await project.events()
  const get = async (query: string) => titles((await project.get(`/calendar-events${query}`)).body)
  assert.deepEqual(await get(''), ['weekly', 'a', 'b', 'c', 'same'])
  assert.deepEqual(await get(`?mailbox_id=${one}`), ['a', 'c', 'same'])
  assert.deepEqual(await get('?from=2027-03-01T10:30:00Z&to=2027-03-03T10:00:00Z'), ['weekly', 'a', 'b'])
  assert.deepEqual(await get('?from=2027-03-01T11:00:00Z&to=2027-03-03T10:00:00.001Z'), ['weekly', 'b', 'c', 'same'])
  assert.deepEqual(await get('?to=2027-01-01T10:00:00Z'), [])
  const pages: string[] = []
  for (let path: string | null = '/calendar-events?limit=2'; path; ) {
    const answer = await project.get(path)
    pages.push(titles(answer.body).join())
    const next: string | undefined = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1]
    path = next ? new URL(next).pathname + new URL(next).search : null
  }
  assert.deepEqual(pages, ['weekly,a', 'b,c', 'same'])
  assert.deepEqual(await project.events(), [])
  assert.deepEqual((await (await app.newProject()).get('/calendar-events')).body, [])
  await project.delete(`/mailboxes/${other}`)
  assert.deepEqual(await get(''), ['a', 'c', 'same'])
})

test('a key of one mailbox sees what came into that mailbox', async () => {
  const project = await app.newProject()
  const [one, other] = await Promise.all(['One', 'Other'].map(async (name) => (await project.post('/mailboxes', { name })).body.id))
  await add(project, one, 'mine', '20270303T100000Z')
  await add(project, other, 'theirs', '20270303T100000Z')
  await project.events()
  const key = await project.withKey(['read'], parseId('mbx', one) as MailboxId)
  const { body } = await key.get('/calendar-events')
  assert.deepEqual(titles(body), ['mine'])
  assert.equal((await key.get(`/calendar-events?mailbox_id=${one}`)).body.length, 1)
  const beyond = await key.get(`/calendar-events?mailbox_id=${other}`)
  assert.deepEqual([beyond.status, beyond.body.error.code], [403, 'forbidden'])
  assert.equal((await key.get(`/calendar-events/${body[0].id}`)).body.title, 'mine')
  const theirs = (await project.get(`/calendar-events?mailbox_id=${other}`)).body[0].id
  const hidden = await key.get(`/calendar-events/${theirs}`)
  assert.deepEqual([hidden.status, hidden.body.error.code], [404, 'not_found'])
  const stranger = await (await app.newProject()).get(`/calendar-events/${theirs}`)
  assert.deepEqual([stranger.status, stranger.body.error.code], [404, 'not_found'])
  assert.deepEqual(await project.events(), [])
})

test('what is wrong is named', async () => {
  const project = await app.newProject()
  const cases: [string, number, RegExp][] = [
    ['from=yesterday', 422, /^from: must be an ISO 8601 time/],
    ['from=2027-01-02T00:00:00Z&to=2027-01-01T00:00:00Z', 422, /^to: must be after from/],
    ['limit=0', 422, /^limit: must be at least 1/],
    ['cursor=made-up', 422, /^cursor: /],
    ['status=done', 422, /^status: must be one of tentative, confirmed, cancelled/],
    ['mailbox_id=mbx_01jd0000000000000000000000', 404, /mailbox/],
  ]
  for (const [query, status, message] of cases) {
    const answer = await project.get(`/calendar-events?${query}`)
    assert.equal(answer.status, status, query)
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual(await project.events(), [])
})
