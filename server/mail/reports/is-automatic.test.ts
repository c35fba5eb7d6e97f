import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AutomaticKind, automaticKind } from './is-automatic.ts'

const person = ['Return-Path: <ann@example.org>', 'From: Ann Lee <ann@example.org>', 'Subject: Re: Weekly']

/** Fields that are added to a person's mail; one of the same name takes its place. */
const cases: [kind: AutomaticKind, ...fields: string[]][] = [
  ['none'],
  ['none', 'Auto-Submitted: no'],
  ['none', 'Auto-Submitted: No (a person)'],
  ['none', 'Precedence: first-class'],
  ['none', 'X-Auto-Response-Suppress: DR, RN'],
  ['none', 'Subject: Our automatic doors are broken'],
  ['none', 'From: "Bounce House Rentals" <hello@example.net>'],
  ['auto-reply', 'Auto-Submitted: auto-replied'],
  ['auto-reply', 'AUTO-SUBMITTED: Auto-Generated'],
  ['auto-reply', 'Auto-Submitted: auto-notified; owner-email="ann@example.org"'],
  ['auto-reply', 'Auto-Submitted: auto-replied (vacation)', 'Return-Path: <>'],
  ['auto-reply', 'X-Autoreply: yes'],
  ['auto-reply', 'X-Autorespond: Weekly'],
  ['auto-reply', 'X-Auto-Response-Suppress: All'],
  ['auto-reply', 'X-Auto-Response-Suppress: OOF, AutoReply'],
  ['auto-reply', 'Precedence: auto_reply'],
  ['auto-reply', 'Precedence: junk'],
  ['auto-reply', 'X-Precedence: auto_reply'],
  ['auto-reply', 'X-Autoreply-From: ann@example.org'],
  ['auto-reply', 'Preference: auto_reply'],
  ['auto-reply', 'Subject: Out of office: Weekly'],
  ['auto-reply', 'Subject: Abwesenheitsnotiz: Weekly'],
  ['auto-reply', 'Subject: Réponse automatique : Weekly'],
  ['auto-reply', 'Subject: 自動返信: Weekly'],
  ['list', 'List-ID: <talk.example.org>'],
  ['list', 'List-Unsubscribe: <https://example.org/u>'],
  ['list', 'Precedence: list'],
  ['list', 'Precedence: bulk'],
  ['list', 'X-BeenThere: talk@example.org'],
  ['list', 'List-Post: <mailto:talk@example.org>', 'Auto-Submitted: auto-generated'],
  ['bounce', 'Return-Path: <>'],
  ['bounce', 'Return-Path: < >'],
  ['bounce', 'From: MAILER-DAEMON@mx.example.org'],
  ['bounce', 'From: Mail Delivery Subsystem <mailer-daemon@example.org>', 'Auto-Submitted: auto-replied'],
  ['bounce', 'From: postmaster@example.org'],
  ['bounce', 'Content-Type: multipart/report; report-type=delivery-status; boundary=x'],
  ['bounce', 'X-Failed-Recipients: ann@example.org'],
]

test('machines are told from people by their header', () => {
  for (const [kind, ...fields] of cases) {
    const names = fields.map((field) => field.split(':')[0]?.toLowerCase())
    const all = [...person.filter((field) => !names.includes(field.split(':')[0]?.toLowerCase())), ...fields]
    const headers = all.map((field) => ({ name: field.slice(0, field.indexOf(':')), value: field.slice(field.indexOf(':') + 1) }))
    assert.equal(automaticKind(headers), kind, fields.join(' | '))
  }
  assert.equal(automaticKind([]), 'none')
})
