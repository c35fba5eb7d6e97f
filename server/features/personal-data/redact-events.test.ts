import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId, newId } from '../../base/ids.ts'
import type { EventRow } from '../../events/expand-events.ts'
import { eventsOf } from '../../events/expand-events.ts'
import { namesOf } from './person-events.ts'
import { redact } from './redact-events.ts'

const contact_id = newId<'con'>()
const con = formatId('con', contact_id)
const isTheirs = namesOf({
  project_id: newId<'prj'>(),
  contact_id,
  email: 'Ann@bücher.example',
  email_key: 'ann@xn--bcher-kva.example',
  former: [],
})
const row = (part: Partial<EventRow>) => ({ type: 'contact.updated', data: null, items: null, ...part }) as EventRow

test('a contact, a subscriber and a mail lose what they say of a person', () => {
  const others = { contact_id: 'con_other', contact: { id: 'con_other', email: 'bo@example.org', name: 'Ann' } }
  assert.deepEqual(redact(row({ data: others }), isTheirs).data, others)
  const contact = { id: con, kind: 'person', email: 'Ann@bücher.example', name: 'Ann', notes: 'x', tags: ['vip'], total_opens: 3 }
  assert.deepEqual(redact(row({ data: { contact_id: con, contact } }), isTheirs).data, {
    contact_id: con,
    contact: {
      id: con,
      kind: 'person',
      email: null,
      name: null,
      notes: null,
      org: null,
      job_title: null,
      tags: [],
      metadata: {},
      country: null,
      city: null,
      timezone: null,
      total_opens: 3,
    },
  })
  const subscriber = { id: 'sub_1', email: 'ann@bücher.example', name: 'Ann', status: 'active' }
  assert.deepEqual(redact(row({ data: { subscriber_id: 'sub_1', contact_id: con, subscriber } }), isTheirs).data, {
    subscriber_id: 'sub_1',
    contact_id: con,
    subscriber: { id: 'sub_1', email: null, name: null, status: 'active' },
  })
  const mail = {
    email_id: 'eml_1',
    contact_id: null,
    from: 'ANN@xn--bcher-kva.example',
    to: 'us@posthaste.test',
    subject: 'Hi',
    message_id: 'a@b',
  }
  assert.deepEqual(redact(row({ data: mail }), isTheirs).data, {
    email_id: 'eml_1',
    contact_id: null,
    from: 'erased@erased.invalid',
    to: 'us@posthaste.test',
    subject: null,
    message_id: null,
    tag: null,
    metadata: {},
  })
})

test('a mail that is told in full loses its words, and what servers said of it', () => {
  const ids = { email_id: 'eml_1', contact_id: null, from: 'ANN@bücher.example', to: 'box@example.org' }
  const words = { subject: 'Hello', message_id: 'a@b', tag: null, metadata: {} }
  const email = {
    id: 'eml_1',
    status: 'received',
    from_address: 'ann@bücher.example',
    from_name: 'Ann',
    to_address: 'box@example.org',
    subject: 'Hello',
    text_body: 'I am Ann',
    html_body: '<p>I am Ann</p>',
    extracted_data: { code: '1' },
    attachments: [{ number: 1, filename: 'ann.pdf' }],
    truncated: false,
  }
  const bounce = { kind: 'hard', smtp_code: 550, reason: 'ann@bücher.example is unknown' }
  const redacted = redact(row({ data: { ...ids, ...words, email, bounce } }), isTheirs).data
  assert.deepEqual(redacted?.email, {
    id: 'eml_1',
    status: 'received',
    from_address: 'erased@erased.invalid',
    from_name: null,
    to_address: 'box@example.org',
    subject: null,
    text_body: null,
    html_body: null,
    extracted_data: null,
    attachments: [],
    truncated: false,
  })
  assert.deepEqual(redacted?.bounce, { kind: 'hard', smtp_code: 550, reason: null })
  assert.doesNotMatch(JSON.stringify(redacted), /ann/i)
  const copy = redact(row({ data: { ...ids, ...words, email: null } }), isTheirs).data
  assert.equal(copy?.email, null)
})

test('of a mail with them their side is gone, though nobody knows any more that they had that address', () => {
  const before = 'before@example.org'
  const ids = { email_id: 'eml_1', contact_id: con, subject: null, message_id: null, tag: null, metadata: {} }
  const sent = { ...ids, from: 'us@posthaste.test', to: before, email: { id: 'eml_1', from: 'us@posthaste.test', to: before } }
  const told = redact(row({ type: 'email.sent', data: sent }), isTheirs).data
  const out = { from: 'us@posthaste.test', to: 'erased@erased.invalid' }
  assert.deepEqual(told, { ...ids, ...out, email: { id: 'eml_1', ...out } })
  const received = { ...ids, from: before, to: 'us@posthaste.test' }
  const heard = redact(row({ type: 'email.received', data: received }), isTheirs).data
  assert.deepEqual(heard, { ...ids, from: 'erased@erased.invalid', to: 'us@posthaste.test' })
  const others = { ...sent, contact_id: 'con_other' }
  assert.deepEqual(redact(row({ type: 'email.sent', data: others }), isTheirs).data, others)
})

test('what they invited to is gone; from what they were invited to, they are', () => {
  const told = { calendar_event_id: 'cal_1', mailbox_id: 'mbx_1', title: 'Tea with Ann' }
  const [ann, bo] = [
    { name: 'Ann', address: 'ann@bücher.example' },
    { name: 'Bo', address: 'bo@example.org' },
  ]
  const theirs = { ...told, calendar_event: { organizer: ann, attendees: [bo], title: 'Tea with Ann' } }
  assert.deepEqual(redact(row({ data: theirs }), isTheirs).data, { ...told, title: '', calendar_event: null })
  const others = { ...told, calendar_event: { organizer: bo, attendees: [ann, bo] } }
  assert.deepEqual(redact(row({ data: others }), isTheirs).data, { ...told, calendar_event: { organizer: bo, attendees: [bo] } })
})

test('of a bulk, only their rows', () => {
  const template = { contact_id: '$0', contact: { id: '$0', kind: 'person', email: '$1', name: '$2' }, to: '$1' }
  const rows = [
    [con, 'ann@bücher.example', 'Ann'],
    ['con_other', 'bo@example.org', 'Ann'],
  ]
  const redacted = redact(row({ id: newId<'evt'>(), items: { template: { ...template, to: 'all' }, rows } }), isTheirs)
  assert.deepEqual(
    eventsOf(redacted).map(({ data }) => data),
    [
      { contact_id: con, contact: { id: con, kind: 'person', email: null, name: null }, to: 'all' },
      { contact_id: 'con_other', contact: { id: 'con_other', kind: 'person', email: 'bo@example.org', name: 'Ann' }, to: 'all' },
    ],
  )
})

test('of events that stand in one row as they are, theirs alone are changed, as if each had a row of its own', () => {
  const mail = (from: string, contact_id: string) => ({
    email_id: 'eml_1',
    contact_id,
    from,
    to: 'us@posthaste.test',
    subject: 'Hi',
    metadata: {},
  })
  const all = [mail('ann@bücher.example', con), mail('bo@example.org', 'con_other'), mail('before@example.org', con)]
  const rows = all.map((data): [Record<string, unknown>] => [data])
  const { items } = redact(row({ type: 'email.received', items: { template: '$0', rows } }), isTheirs)
  const alone = all.map((data) => redact(row({ type: 'email.received', data }), isTheirs).data)
  assert.deepEqual(items, { template: '$0', rows: alone.map((data) => [data]) })
  assert.deepEqual(
    alone.map((data) => data?.from),
    ['erased@erased.invalid', 'bo@example.org', 'erased@erased.invalid'],
  )
})

test('a bulk of contacts loses where they are, of this one alone', () => {
  const template = {
    contact_id: '$0',
    contact: { id: '$0', email: '$1', name: '$2', country: '$3', city: '$4', timezone: '$5', total_opens: '$#6' },
  }
  const rows = [
    [con, 'ann@bücher.example', 'Ann', 'DE', 'Köln', 'Europe/Berlin', '3'],
    ['con_other', 'bo@example.org', 'Bo', 'FR', 'Paris', 'Europe/Paris', '4'],
  ]
  const redacted = redact(row({ items: { template, rows } }), isTheirs)
  assert.deepEqual(redacted.items, { template, rows: [[con, null, null, null, null, null, '3'], rows[1]] })
})
