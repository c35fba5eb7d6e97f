import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type MailboxId, newId, parseId } from '../../base/ids.ts'
import { type ArrivedCalendar, applyCalendar } from './apply-calendar.ts'

const app = await startApp()
const { database } = app.services

interface Known {
  project: TestProject
  mailbox_id: MailboxId
}

async function newMailbox(project?: TestProject): Promise<Known> {
  const owner = project ?? (await app.newProject())
  const { body } = await owner.post('/mailboxes', { name: 'Calendar' })
  await owner.events()
  return { project: owner, mailbox_id: parseId('mbx', body.id) as MailboxId }
}

const arrive = ({ project, mailbox_id }: Known, text: string, more: Partial<ArrivedCalendar> = {}) =>
  database.transaction((tx) =>
    applyCalendar(tx, {
      project_id: project.id,
      mailbox_id,
      email_id: newId<'eml'>(),
      text,
      from: 'Ann@Example.com',
      isForged: false,
      isProven: true,
      ...more,
    }),
  )

interface Event {
  method?: string
  sequence?: number
  stamp?: string
  title?: string
  more?: string[]
}

const invite = ({ method = 'REQUEST', sequence = 0, stamp = '20270101T000000Z', title = 'Tea', more = [] }: Event = {}) =>
  [
    'BEGIN:VCALENDAR',
    `METHOD:${method}`,
    'BEGIN:VEVENT',
    'UID:tea@example.com',
    `DTSTAMP:${stamp}`,
    'DTSTART:20270301T150000Z',
    'DTEND:20270301T160000Z',
    'ORGANIZER;CN=Ann:mailto:ann@example.com',
    'ATTENDEE;CN=Bo:mailto:bo@example.org',
    `SEQUENCE:${sequence}`,
    `SUMMARY:${title}`,
    ...more,
    'END:VEVENT',
    'END:VCALENDAR',
  ].join('\r\n')

const shown = async ({ project }: Known, query = '') => (await project.get(`/calendar-events${query}`)).body

test('an invitation becomes an event, changes with its sequence, and ends', async () => {
  const known = await newMailbox()
  const { project } = known
  const email_id = newId<'eml'>()
  await arrive(known, invite(), { email_id })
  const [event] = await shown(known)
  const { data } = (await project.eventsWithData())[0] ?? {}
  assert.deepEqual(data, { calendar_event_id: event.id, mailbox_id: event.mailbox_id, title: 'Tea', calendar_event: event })
  assert.deepEqual(
    { ...event, id: 0, mailbox_id: 0, email_id: 0, created_at: 0, updated_at: 0 },
    {
      id: 0,
      mailbox_id: 0,
      email_id: 0,
      uid: 'tea@example.com',
      sequence: 0,
      title: 'Tea',
      description: null,
      location: null,
      organizer: { name: 'Ann', address: 'ann@example.com' },
      attendees: [{ name: 'Bo', address: 'bo@example.org', status: 'needs_action', role: 'required' }],
      starts_at: '2027-03-01T15:00:00.000Z',
      ends_at: '2027-03-01T16:00:00.000Z',
      is_all_day: false,
      timezone: 'UTC',
      recurrence: null,
      status: 'confirmed',
      created_at: 0,
      updated_at: 0,
    },
  )
  await arrive(known, invite())
  await arrive(known, invite({ stamp: '20270101T000005Z' }))
  assert.deepEqual(await project.events(), [], 'the same once more is no change')
  await arrive(known, invite({ sequence: 2, title: 'Coffee' }))
  assert.deepEqual(await project.events(), ['calendar_event.updated'])
  await arrive(known, invite({ sequence: 1, title: 'Late tea' }))
  await arrive(known, invite({ sequence: 1, method: 'CANCEL' }))
  assert.deepEqual(await project.events(), [], 'what was overtaken changes nothing')
  assert.deepEqual([(await shown(known))[0].title, (await shown(known))[0].sequence], ['Coffee', 2])
  await arrive(known, invite({ sequence: 2, stamp: '20270102T000000Z', title: 'Cocoa' }))
  assert.deepEqual(await project.events(), ['calendar_event.updated'], 'of the same sequence, the later stamp')

  await arrive(known, invite({ sequence: 3, method: 'CANCEL' }))
  await arrive(known, invite({ sequence: 3, method: 'CANCEL' }))
  assert.deepEqual(await project.events(), ['calendar_event.deleted'])
  assert.deepEqual(await shown(known), [])
  assert.equal((await shown(known, '?status=cancelled'))[0].id, event.id)
  assert.equal((await project.get(`/calendar-events/${event.id}`)).body.status, 'cancelled')
  await arrive(known, invite({ sequence: 4 }))
  assert.deepEqual(await project.events(), ['calendar_event.created'])
  assert.equal((await shown(known))[0].id, event.id)
  await arrive(known, invite({ sequence: 5, more: ['STATUS:CANCELLED'] }))
  assert.deepEqual(await project.events(), ['calendar_event.deleted'])
})

test('only the organizer, or whoever sent it, changes and cancels', async () => {
  const known = await newMailbox()
  const { project } = known
  await arrive(known, invite(), { from: 'no-reply@service.example' })
  await project.events()
  for (const from of ['eve@example.org', null, 'not an address']) {
    await arrive(known, invite({ sequence: 8, title: 'Mine' }), { from })
    await arrive(known, invite({ sequence: 9, method: 'CANCEL' }), { from })
  }
  await arrive(known, invite({ sequence: 9, method: 'CANCEL' }), { isForged: true })
  assert.deepEqual(await project.events(), [])
  assert.deepEqual([(await shown(known))[0].title, (await shown(known))[0].status], ['Tea', 'confirmed'])
  await arrive(known, invite({ sequence: 1, title: 'From the service' }), { from: 'No-Reply@service.example' })
  await arrive(known, invite({ sequence: 2, title: 'From the organizer' }), { from: 'ANN@example.com' })
  await arrive(known, invite({ sequence: 3, title: 'From the service again' }), { from: 'no-reply@service.example' })
  assert.equal((await shown(known))[0].title, 'From the service again')
  await arrive(known, invite({ sequence: 4, method: 'CANCEL' }), { from: 'no-reply@service.example' })
  const updated = 'calendar_event.updated'
  assert.deepEqual(await project.events(), [updated, updated, updated, 'calendar_event.deleted'])
  const fresh = await newMailbox()
  await arrive(fresh, invite(), { isForged: true })
  assert.deepEqual([await shown(fresh), await fresh.project.events()], [[], []])
})

test('without proof of who sent it, mail makes an event and changes none', async () => {
  const known = await newMailbox()
  const { project } = known
  await arrive(known, invite(), { isProven: false })
  assert.deepEqual(await project.events(), ['calendar_event.created'])
  const answer = invite({ method: 'REPLY' }).replace('CN=Bo', 'PARTSTAT=DECLINED')
  await arrive(known, invite({ sequence: 1, title: 'Mine' }), { isProven: false })
  await arrive(known, invite({ sequence: 2, method: 'CANCEL' }), { isProven: false })
  await arrive(known, answer, { isProven: false, from: 'bo@example.org' })
  assert.deepEqual(await project.events(), [])
  const [{ title, status, attendees }] = await shown(known)
  assert.deepEqual([title, status, attendees[0].status], ['Tea', 'confirmed', 'needs_action'])
})

test('who was invited answers for themselves', async () => {
  const known = await newMailbox()
  await arrive(known, invite())
  await known.project.events()
  const answer = (status: string) => invite({ method: 'REPLY' }).replace('CN=Bo', `PARTSTAT=${status}`)
  await arrive(known, answer('DECLINED'), { from: 'eve@example.org' })
  assert.deepEqual(await known.project.events(), [])
  await arrive(known, answer('ACCEPTED'), { from: 'bo@example.org' })
  await arrive(known, answer('ACCEPTED'), { from: 'bo@example.org' })
  assert.deepEqual(await known.project.events(), ['calendar_event.updated'])
  assert.deepEqual((await shown(known))[0].attendees, [{ name: 'Bo', address: 'bo@example.org', status: 'accepted', role: 'required' }])
})

test('what is not an invitation to anything changes nothing', async () => {
  const known = await newMailbox()
  await arrive(known, invite({ method: 'CANCEL' }))
  await arrive(known, invite({ method: 'REPLY' }))
  await arrive(known, invite({ method: 'COUNTER' }))
  await arrive(known, invite({ more: ['RECURRENCE-ID:20270301T150000Z'] }))
  await arrive(known, 'Hello')
  assert.deepEqual([await shown(known), await known.project.events()], [[], []])
})

test('two mailboxes, and two projects, have an event each; two mails at once make one', async () => {
  const one = await newMailbox()
  const other = await newMailbox(one.project)
  const stranger = await newMailbox()
  for (const known of [one, other, stranger]) await arrive(known, invite())
  assert.equal((await shown(one)).length, 2)
  await arrive(stranger, invite({ sequence: 1, method: 'CANCEL' }))
  assert.equal((await shown(one)).length, 2)
  const third = await newMailbox()
  await Promise.all([arrive(third, invite()), arrive(third, invite()), arrive(third, invite())])
  assert.equal((await shown(third)).length, 1)
  assert.deepEqual(await third.project.events(), ['calendar_event.created'])
})
