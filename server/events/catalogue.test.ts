import assert from 'node:assert/strict'
import { test } from 'node:test'
import { presenterOf } from '../operations/present.ts'
import { catalogue, eventTypes } from './catalogue.ts'

/** The table of section 6 of the contract. */
const contract: Record<string, string> = {
  post: 'created updated sent delivered paused resumed cancelled viewed liked',
  email: 'received sent delivered bounced opened clicked complained replied',
  subscriber: 'created confirmed unsubscribed deleted',
  contact: 'created updated deleted',
  contact_group: 'created updated deleted',
  list: 'created updated deleted',
  mailbox: 'created updated deleted',
  calendar_event: 'created updated deleted',
}

test('the catalogue has the contract’s 36 events and project.deleted', () => {
  const names = Object.entries(contract).flatMap(([entity, actions]) => actions.split(' ').map((action) => `${entity}.${action}`))
  assert.equal(names.length, 36)
  assert.deepEqual([...eventTypes].sort(), [...names, 'project.deleted'].sort())
})

test('every event says when it fires, and its data can go on the wire', () => {
  for (const [name, { when, data }] of Object.entries(catalogue)) {
    assert.ok(when.length > 10, name)
    assert.doesNotThrow(() => presenterOf(data), name)
    assert.ok(
      Object.keys(data.shape).some((field) => field.endsWith('_id')),
      `${name} names what it is about`,
    )
  }
})

test('post.sent carries what the contract shows, and the post', () => {
  assert.deepEqual(Object.keys(catalogue['post.sent'].data.shape), ['post_id', 'list_id', 'subject', 'post'])
})
