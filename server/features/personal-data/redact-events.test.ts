import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatId, newId } from '../../base/ids.ts'
import type { EventRow } from '../../events/expand-events.ts'
import { eventsOf } from '../../events/expand-events.ts'
import { namesOf } from './person-events.ts'
import { redact } from './redact-events.ts'

const contact_id = newId<'con'>()
const con = formatId('con', contact_id)
const isTheirs = namesOf({ project_id: newId<'prj'>(), contact_id, email: 'Ann@bücher.example', email_key: 'ann@xn--bcher-kva.example' })
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
