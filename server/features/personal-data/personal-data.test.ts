import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { importReaders } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newSentPost } from '../../../tests/support/recipients.ts'
import { until } from '../../../tests/support/until.ts'
import { enqueueMessage } from '../../delivery/enqueue.ts'
import { activityConsumer } from '../../events/activity.ts'
import { startConsumers } from '../../events/consume.ts'
import { publishBulk } from '../../events/publish.ts'
import { readRawMail } from '../raw-mail/index.ts'
import { eraseTraces } from './erase-traces.ts'

const app = await startApp()
const { database } = app.services

const invitation = (uid: string, organizer: string, attendee: string) =>
  [
    'BEGIN:VCALENDAR',
    'METHOD:REQUEST',
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTART:20300101T100000Z',
    `SUMMARY:${uid}`,
    `ORGANIZER:mailto:${organizer}`,
    `ATTENDEE:mailto:${attendee}`,
    'END:VEVENT',
    'END:VCALENDAR',
  ].join('\r\n')
const calendarPart = ['Content-Type: text/calendar; method=REQUEST; charset=utf-8']

/** Somebody who has done all that somebody can do, beside another who has, too. */
async function fullLife() {
  const made = await newSentPost(app, { subscribers: 2 })
  const { project, list } = made
  const [ann, bo] = ['reader-1@example.org', 'reader-2@example.org']
  await importReaders(project, (await project.post('/lists', { name: 'Second' })).body.id, 2)
  const { body: mailbox } = await project.post('/mailboxes', { name: 'Desk' })
  for (const to of [ann, bo]) {
    await project.post('/emails', { from: mailbox.address, to, subject: `To ${to}`, text: 'Hello' })
    await fileMail(app, {
      recipients: [mailbox.address, list.mailbox_address],
      from: `R <${to}>`,
      subject: `From ${to}`,
      text: `I am ${to}`,
    })
    await database.transaction((tx) =>
      enqueueMessage(tx, {
        project_id: project.id,
        kind: 'notice',
        mail: {
          from: { name: null, address: mailbox.address },
          to,
          reply_to: null,
          subject: 'A notice',
          text: 'x',
          html: null,
          headers: {},
        },
      }),
    )
  }
  await fileMail(app, { recipients: [mailbox.address], from: ann, subject: 'Away', headers: ['Auto-Submitted: auto-replied'] })
  await fileMail(app, { recipients: [mailbox.address], from: ann, headers: calendarPart, text: invitation('by-ann', ann, bo) })
  await fileMail(app, { recipients: [mailbox.address], from: bo, headers: calendarPart, text: invitation('by-bo', bo, ann) })
  const { body: group } = await project.post('/contact-groups', { name: 'Readers' })
  const contacts: { id: string; email: string }[] = (await project.get('/contacts?sort=email&search=reader')).body
  await project.post(`/contact-groups/${group.id}/contacts`, { contact_ids: contacts.map(({ id }) => id) })
  await until('the mail to be out', async () => {
    const open = await database.many`select 1 from messages where project_id = ${project.id} and status in ('queued', 'sending')`
    return open.length === 0
  })
  return { ...made, mailbox, group, ann: contacts[0] as { id: string; email: string } }
}

/** Every row of the project as text, without the erasure itself. */
async function everything(project: TestProject): Promise<string> {
  const { rows: tables } = await database.execute(
    `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'project_id'`,
  )
  const texts: string[] = []
  for (const { name } of tables) {
    const { rows } = await database.execute(`select t::text as row from ${name} t where project_id = $1`, [project.id])
    texts.push(...rows.map(({ row }) => `${name}: ${row}`))
  }
  return texts.filter((text) => /reader-1@/i.test(text)).join('\n')
}

test('an erased person is gone from everywhere; what others did, and the counts, stay', async () => {
  const { project, path, list, mailbox, group, ann } = await fullLife()
  const before = (await project.get(path)).body.stats
  const raws = await database.many<{ raw_key: string; from_address: string }>`
    select raw_key, from_address from emails where project_id = ${project.id} and raw_key is not null`
  await project.events()
  const { status } = await project.delete(`/contacts/${ann.id}`)
  assert.equal(status, 204)
  assert.equal((await project.get(`/contacts/${ann.id}`)).status, 404)
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['subscriber.deleted', 'subscriber.deleted', 'contact_group.updated', 'contact.deleted'],
  )
  assert.equal(events.at(-1)?.data.contact_id, ann.id)
  assert.doesNotMatch(JSON.stringify(events), /reader-1|Reader 1/)
  await until(
    'the traces to be gone',
    async () => (await database.many`select 1 from erasures where project_id = ${project.id}`).length === 0,
    {
      withinMs: 20_000,
    },
  )
  assert.deepEqual(await project.events(), ['calendar_event.deleted'])
  assert.equal(await everything(project), '')
  for (const { raw_key, from_address } of raws)
    assert.equal(
      (await readRawMail(app.services, { project_id: project.id, raw_key })) === null,
      from_address === ann.email,
      `${raw_key} of ${from_address}`,
    )

  assert.deepEqual((await project.get(path)).body.stats, before)
  const deliveries = (await project.get(`${path}/deliveries`)).body.map(({ email }: { email: string }) => email)
  assert.deepEqual(deliveries.sort(), ['erased@erased.invalid', 'reader-2@example.org'])
  assert.equal((await project.get(`/lists/${list.id}`)).body.subscriber_count, 1)
  assert.equal((await project.get(`/contact-groups/${group.id}`)).body.contact_count, 1)
  const left = (await project.get(`/mailboxes/${mailbox.id}/emails`)).body
  assert.equal(left.length, 3)
  assert.equal((await project.get('/mailboxes')).body.find(({ id }: { id: string }) => id === mailbox.id).email_count, 3)
  const calendar = (await project.get('/calendar-events')).body
  assert.deepEqual(
    calendar.map(({ uid, attendees }: { uid: string; attendees: unknown[] }) => [uid, attendees]),
    [['by-bo', []]],
  )
  const [suppression] = (await project.get('/suppressions')).body
  assert.deepEqual([suppression.email, suppression.reason, suppression.detail], [null, 'erased', null])
  const again = await project.post(`/lists/${list.id}/subscribers`, { email: ann.email, verified: true })
  assert.equal(again.status, 422)
  assert.equal((await project.delete(`/suppressions/${encodeURIComponent(ann.email)}`)).status, 204)
  assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email: ann.email, verified: true })).status, 201)
})

test('the export has everything of one person, and nothing of another', async () => {
  const { project, ann, list } = await fullLife()
  await project.events()
  const { status, body, headers } = await project.get(`/contacts/${ann.id}/export`)
  assert.equal(status, 200)
  assert.match(headers.get('content-disposition') ?? '', new RegExp(`attachment; filename="${ann.id}.json"`))
  const counts = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, Array.isArray(value) ? value.length : 'one']))
  assert.deepEqual(
    { ...counts, events: 0 },
    {
      contact: 'one',
      former_addresses: 0,
      lists: 2,
      groups: 1,
      posts: 1,
      emails: 5,
      messages: 1,
      calendar_events: 2,
      suppressions: 0,
      events: 0,
    },
  )
  assert.ok(body.events.length >= 3)
  assert.equal(body.contact.email, ann.email)
  assert.deepEqual(body.lists.map(({ list_id }: { list_id: string }) => list_id).includes(list.id), true)
  const letter = body.emails.find(({ subject }: { subject: string }) => subject === `From ${ann.email}`)
  assert.match(letter.text_body, /I am reader-1@example\.org/)
  assert.match(letter.id, /^eml_/)
  assert.doesNotMatch(JSON.stringify({ ...body, calendar_events: [] }), /reader-2|Reader 2/)
  assert.deepEqual(await project.events(), [])
  const stranger = await (await app.newProject()).get(`/contacts/${ann.id}/export`)
  assert.deepEqual([stranger.status, stranger.body.error.code], [404, 'not_found'])
})

test('nobody erases, or exports, a contact of another project; a second time there is nobody', async () => {
  const { project } = await newSentPost(app)
  const [{ id }] = (await project.get('/contacts')).body
  const stranger = await app.newProject()
  assert.equal((await stranger.delete(`/contacts/${id}`)).status, 404)
  const reader = await project.withKey(['read'])
  assert.equal((await reader.delete(`/contacts/${id}`)).status, 403)
  assert.deepEqual([await project.events(), await stranger.events()], [[], []])
  const answers = await Promise.all([project.delete(`/contacts/${id}`), project.delete(`/contacts/${id}`)])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 404])
  assert.deepEqual(await project.events(), ['subscriber.deleted', 'contact.deleted'])
})

test('what is being sent to them at this moment is left to its sender, and erased the next time', async () => {
  const { project } = await newSentPost(app)
  const [{ id }] = (await project.get('/contacts')).body
  await database.run`update deliveries set status = 'sending', next_attempt_at = now() + interval '1 hour' where project_id = ${project.id}`
  await project.delete(`/contacts/${id}`)
  const [erasure] = await database.many<{ id: string }>`select id from erasures where project_id = ${project.id}`
  await assert.rejects(eraseTraces.run(app.services, { id: erasure?.id as string }), /1 of 1 erased people is being sent/)
  assert.match(await everything(project), /^deliveries: /m)
  await database.run`update deliveries set status = 'delivered' where project_id = ${project.id}`
  await eraseTraces.run(app.services, {})
  assert.equal(await everything(project), '')
  await eraseTraces.run(app.services, { id: erasure?.id as string })
})

test('what a proxy mailbox passed on of theirs is erased from the queue, too: sent, waiting, and on its way', async () => {
  const project = await app.newProject()
  const { body: mailbox } = await project.post('/mailboxes', { type: 'proxy', config: { forward_to: 'owner@home.example' } })
  const forwards = () => database.many<{ subject: string; status: string }>`
    select mail->>'subject' as subject, status from messages where project_id = ${project.id} and kind = 'forward' order by id`
  const write = (name: string, subject: string) => fileMail(app, { recipients: [mailbox.address], from: `${name}@example.org`, subject })
  await write('bo', 'Stays')
  for (const subject of ['Gone', 'Waits', 'Leaves']) await write('ann', subject)
  await until('all to be out', async () => (await forwards()).every(({ status }) => status === 'delivered'))
  const put = (subject: string, status: string) => database.run`
    update messages set status = ${status}, next_attempt_at = now() + interval '1 hour', mail = mail || ${JSON.stringify({ subject })}::jsonb
    where project_id = ${project.id} and id = (select id from emails where project_id = ${project.id} and subject = ${subject})`
  await put('Waits', 'queued')
  await put('Leaves', 'sending')
  const contacts: { id: string; email: string }[] = (await project.get('/contacts')).body
  await project.delete(`/contacts/${contacts.find(({ email }) => email === 'ann@example.org')?.id}`)
  await until('the first attempt', async () => (await forwards()).length === 2)
  assert.deepEqual((await forwards()).map(({ subject }) => subject).sort(), ['Leaves', 'Stays'])
  assert.equal((await database.many`select 1 from erasures where project_id = ${project.id}`).length, 1, 'not finished')
  await put('Leaves', 'delivered')
  await eraseTraces.run(app.services, {})
  assert.deepEqual(await forwards(), [{ subject: 'Stays', status: 'delivered' }])
  const left = await database.many<{ subject: string }>`select subject from emails where project_id = ${project.id}`
  assert.deepEqual(left, [{ subject: 'Stays' }])
  assert.equal((await database.many`select 1 from erasures where project_id = ${project.id}`).length, 0)
})

test('somebody who was suppressed before keeps the reason, and loses the address', async () => {
  const { project } = await newSentPost(app)
  const [{ id, email }] = (await project.get('/contacts')).body
  await project.post('/suppressions', { email, detail: 'asked by phone' })
  await project.delete(`/contacts/${id}`)
  const { body } = await project.get('/suppressions')
  assert.deepEqual(
    body.map(({ email, reason, detail }: Record<string, unknown>) => [email, reason, detail]),
    [[null, 'manual', null]],
  )
})

test('what the feeds have read of them but not filed yet is erased, too', async (context) => {
  const { newProject, services } = await startApp({ ROLES: 'http,scheduler' })
  const [read, filing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const loops = await startConsumers(services.database, services.log, [
    {
      ...activityConsumer,
      async handle(tx, rows) {
        read.resolve()
        await filing.promise
        return activityConsumer.handle(tx, rows)
      },
    },
  ])
  context.after(() => Promise.all(loops.map((loop) => loop.stop())))
  const project = await newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'vic@example.org', verified: true })
  await read.promise
  const [contact] = (await project.get('/contacts')).body
  assert.equal((await project.delete(`/contacts/${contact.id}`)).status, 204)
  const count = async (table: 'events' | 'erasures') =>
    (await services.database.execute(`select 1 from ${table} t where project_id = $1 and t::text like '%vic@example.org%'`, [project.id]))
      .rows.length
  await until('the events to be redacted', async () => (await count('events')) === 0)
  filing.resolve()
  await until('the rest to be gone', async () => (await count('erasures')) === 0)
  const items = await until('the deletion to be in the feed', async () => {
    const { body } = await project.get(`/lists/${list.id}/activity`)
    return body.items.length > 1 && body.items
  })
  assert.deepEqual(
    items.map(({ type, email }: Record<string, unknown>) => [type, email]),
    [
      ['subscriber.deleted', null],
      ['subscriber.created', null],
    ],
  )
})

test('two who stand in one row of events are both gone when both are erased at the same time', async () => {
  const project = await app.newProject()
  const people = ['ann@example.org', 'bo@example.org']
  const { body: list } = await project.post('/lists', { name: 'News' })
  for (const email of people) await project.post(`/lists/${list.id}/subscribers`, { email, verified: true })
  const template = { contact_id: null, from: '$0', to: 'us@example.org', subject: '$1' }
  await database.transaction((tx) =>
    publishBulk(tx, project.id, 'email.received', { template, rows: people.map((email) => [email, 'Hi']) }),
  )
  const { body: contacts } = await project.get('/contacts')
  const erasing = await database.transaction(async (tx) => {
    await tx.run`select 1 from events where project_id = ${project.id} and items is not null for update`
    const erased = contacts.map(({ id }: { id: string }) => project.delete(`/contacts/${id}`))
    assert.deepEqual(
      (await Promise.all(erased)).map(({ status }) => status),
      [204, 204],
    )
    const { rows } = await database.execute('select id from erasures where project_id = $1', [project.id])
    const runs = rows.map(({ id }) => eraseTraces.run(app.services, { id: id as string }))
    await until('both to wait for the row', async () => {
      const waiting = await database.many`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%events%'`
      return waiting.length >= 2
    })
    return { runs }
  })
  await Promise.all(erasing.runs)
  const told = async () => {
    const { rows } = await database.execute('select items::text as items from events where project_id = $1 and items is not null', [
      project.id,
    ])
    return rows.map(({ items }) => items).join()
  }
  await until('the erasures to be done', async () => {
    const { rows } = await database.execute('select 1 from erasures where project_id = $1', [project.id])
    return rows.length === 0
  })
  assert.doesNotMatch(await told(), /ann@|bo@/)
})
