import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type PeerAction, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { parseId } from '../../base/ids.ts'

/** Many at once are booked and settled in common statements. Nobody may notice, but by the clock. */
const peer = await startSmtpPeer({ atRcpt: ({ line }) => (line.includes('refused') ? '550 5.7.1 not from you' : undefined) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
/** A second process on the same database. */
const other = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}`, ROLES: 'http' }, { connection: app.connection, clock: app.clock })
const { database } = app.services

async function newSender(plan: string) {
  const project = await app.newProject()
  await database.run`update projects set plan = ${plan} where id = ${project.id}`
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  await project.events()
  return { project, from: list.mailbox_address as string, mailbox_id: parseId('mbx', list.mailbox_id) }
}

const request = (url: string, { key }: TestProject, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
const countOf = (all: number[], status: number) => all.filter((one) => one === status).length
const times = <Result>(count: number, make: (index: number) => Result) => Array.from({ length: count }, (_, index) => make(index))

test('forty at once, on two nodes: each is recorded, placed, told of and noted once, and what fails is its own', async () => {
  const { project, from, mailbox_id } = await newSender('unlimited')
  const send = (index: number) => {
    const to = `${index % 10 === 0 ? 'refused' : 'reader'}-${index}@example.org`
    const headers: Record<string, string> = index % 3 === 0 ? { 'idempotency-key': `key-${index}` } : {}
    return request(index % 2 ? app.url : other.url, project, { to, from, subject: String(index), text: 'x' }, headers)
  }
  const statuses = (await Promise.all(times(40, send))).map(({ status }) => status)
  assert.deepEqual([countOf(statuses, 201), countOf(statuses, 502)], [36, 4])
  const rows = await database.many<{ status: string; position: number | null; is_booked: boolean }>`
    select status, position, reservation_id is not null as is_booked from emails where project_id = ${project.id} order by position`
  assert.deepEqual(
    rows.map(({ position }) => position),
    [...times(36, (index) => index + 1), null, null, null, null],
  )
  assert.ok(rows.every(({ status, position, is_booked }) => (status === 'delivered' ? position !== null && is_booked : !is_booked)))
  const events = await project.eventsWithData()
  for (const type of ['email.sent', 'email.delivered'])
    assert.equal(new Set(events.filter((event) => event.type === type).map(({ data }) => data.email_id)).size, 36)
  assert.equal(events.length, 72)
  const audit = await database.many`select 1 from audit_log where project_id = ${project.id} and operation = 'emails.send'`
  assert.equal(audit.length, 40)
  assert.equal((await project.get('/usage')).body.emails_sent, 36)
  const [mailbox] =
    await database.many<object>`select email_count, last_position from mailboxes where project_id = ${project.id} and id = ${mailbox_id}`
  assert.deepEqual({ ...mailbox }, { email_count: 36, last_position: 36 })

  const again = await request(
    app.url,
    project,
    { to: 'reader-3@example.org', from, subject: '3', text: 'x' },
    { 'idempotency-key': 'key-3' },
  )
  assert.deepEqual([again.status, peer.messages.filter(({ to }) => to.includes('reader-3@example.org')).length], [200, 1])
})

test('the last of a plan go to as many as there are, however they come', async () => {
  const { project, from } = await newSender('light')
  const { body } = await project.get('/usage')
  const left = 13
  await database.run`
    insert into usage_periods (project_id, period_start, owner_id, used)
    select id, date_trunc('month', ${app.clock.now()}::timestamptz at time zone 'UTC') at time zone 'UTC', owner_id, ${body.emails_remaining - left} from projects where id = ${project.id}`
  const send = (index: number) =>
    request(index % 2 ? app.url : other.url, project, { to: `last-${index}@example.org`, from, subject: 'x', text: 'x' })
  const statuses = (await Promise.all(times(40, send))).map(({ status }) => status)
  assert.deepEqual([countOf(statuses, 201), countOf(statuses, 402)], [left, 40 - left])
  assert.equal((await project.get('/usage')).body.emails_remaining, 0)
  assert.equal((await database.many`select 1 from emails where project_id = ${project.id}`).length, left)
  assert.equal((await database.many`select 1 from usage_reservations where project_id = ${project.id}`).length, left)
  assert.equal((await database.many`select 1 from audit_log where project_id = ${project.id} and operation = 'emails.send'`).length, left)
  assert.equal((await project.events()).length, 2 * left)
})
