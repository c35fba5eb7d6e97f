import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accept, type EmailSeen, emailsIn, fileMail, newMailbox, verdictsOf, waitingMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { type ContactId, formatId, newId } from '../../base/ids.ts'
import { openDatabase } from '../../database/database.ts'
import { holdContactsByAddress } from '../contacts/index.ts'
import { readRawMail } from '../raw-mail/index.ts'
import { fileMessages } from './index.ts'

const app = await startApp()

test('all of it takes one connection at a time: what waits for a second while it holds one may wait for itself', async () => {
  const { project, address } = await newMailbox(app)
  const { clock, log } = app.services
  const database = openDatabase({ connection: app.connection, clock, log, poolSize: 1 })
  try {
    await fileMessages({ ...app.services, database }, [await accept(app, { recipients: [address] })])
  } finally {
    await database.close()
  }
  assert.equal((await emailsIn(app, project)).length, 1)
})

test('of a batch, each row gets its own words', async () => {
  const { project, address, id } = await newMailbox(app)
  const mail = (subject: string, ...lines: string[]) =>
    accept(app, { recipients: [address], raw: ['From: a@example.com', `Subject: ${subject}`, ...lines, ''].join('\r\n') })
  const plain = 'Content-Type: text/plain; charset=utf-8'
  const batch = [
    await mail('one', plain, '', 'Grüße 🎉'),
    await mail('none', ''),
    await mail('encoded', plain, 'Content-Transfer-Encoding: base64', '', 'RWlucw=='),
    await mail('two', 'Content-Type: text/html; charset=utf-8', '', '<p>„Zwei“</p>'),
    await mail('three', plain, '', 'Ja, schön.', '', '> Möchtest du?'),
  ]
  assert.deepEqual(
    batch.map(({ parsed }) => parsed.text_in_raw !== null),
    [true, false, false, false, true],
  )
  await fileMessages(app.services, batch)
  const words = async (subject: string) => {
    const seen = (await emailsIn(app, project)).find((email) => email.subject === subject) as EmailSeen
    const { body } = await project.get(`/mailboxes/${id}/emails/${formatId('eml', seen.id)}`)
    return [body.text_body?.trim() ?? null, body.html_body?.trim() ?? null, body.extracted_text]
  }
  assert.deepEqual(await words('one'), ['Grüße 🎉', null, 'Grüße 🎉'])
  assert.deepEqual(await words('none'), [null, null, null])
  assert.deepEqual(await words('encoded'), ['Eins', null, 'Eins'])
  assert.deepEqual(await words('two'), ['„Zwei“', '<p>„Zwei“</p>', '„Zwei“'])
  assert.deepEqual(await words('three'), ['Ja, schön.\n\n> Möchtest du?', null, 'Ja, schön.'])
})

test('what nobody listens for is told in one row; an answer among it has its own', async () => {
  const { project, address } = await newMailbox(app)
  await project.post('/emails', { from: address, to: 'ann@example.com', subject: 'Plan', text: 'Well?' })
  const [{ message_id } = { message_id: null }] = await emailsIn(app, project)
  await project.events()
  const batch = [
    await accept(app, { recipients: [address], subject: 'One' }),
    await accept(app, { recipients: [address], subject: 'Re: Plan', headers: [`In-Reply-To: <${message_id}>`] }),
    await accept(app, { recipients: [address], subject: 'Two' }),
  ]
  await fileMessages(app.services, batch)
  const { database } = app.services
  const rows = () => database.many<{ type: string; item_count: number }>`
    select type, item_count from events where project_id = ${project.id} and type in ('email.received', 'email.replied') order by position`
  assert.deepEqual(await rows(), [
    { type: 'email.received', item_count: 3 },
    { type: 'email.replied', item_count: 1 },
  ])
  const told = (await project.eventsWithData()).filter(({ type }) => type.startsWith('email.'))
  assert.deepEqual(
    told.map(({ type, data }) => [type, data.subject]),
    [
      ['email.received', 'One'],
      ['email.received', 'Re: Plan'],
      ['email.received', 'Two'],
      ['email.replied', 'Re: Plan'],
    ],
  )
})

test('a letter becomes an e-mail, its writer a contact, and the spool is empty', async () => {
  const { project, address, id } = await newMailbox(app)
  const { message } = await fileMail(app, {
    recipients: [address.replace('@', '+tag@')],
    message_id: 'one@example.com',
    subject: 'Your code',
    text: 'Your verification code is 483920.',
  })
  const [email, ...more] = await emailsIn(app, project)
  assert.equal(more.length, 0)
  assert.ok(email)
  assert.deepEqual(
    [
      formatId('mbx', email.mailbox_id),
      email.direction,
      email.status,
      email.from_address,
      email.to_address,
      email.subject,
      email.message_id,
    ],
    [id, 'inbound', 'received', 'ann@example.com', address.replace('@', '+tag@'), 'Your code', 'one@example.com'],
  )
  assert.deepEqual([email.thread_id, email.is_automatic, email.position, email.handler_results], [email.id, false, 1, null])
  assert.equal(email.extracted_data?.code, '483920')
  assert.deepEqual(await readRawMail(app.services, { project_id: project.id, raw_key: email.raw_key }), message.raw)
  assert.equal(await waitingMail(app), 0)
  const events = await project.eventsWithData()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['contact.created', 'email.received'],
  )
  const { body: detail } = await project.get(`/mailboxes/${id}/emails/${formatId('eml', email.id)}`)
  const receivedData = events[1]?.data.email
  assert.deepEqual(events[1]?.data, {
    email_id: formatId('eml', email.id),
    mailbox_id: id,
    list_id: null,
    post_id: null,
    subscriber_id: null,
    contact_id: formatId('con', email.contact_id as string),
    from: 'ann@example.com',
    to: email.to_address,
    subject: 'Your code',
    message_id: 'one@example.com',
    tag: null,
    metadata: {},
    email: receivedData,
  })
  const { text_body: _text, html_body: _html, extracted_text: _new, references: _references, handler_results: _results, ...shown } = detail
  const { contact_id: _contact, reason: _reason, ...rest } = shown
  assert.deepEqual(receivedData, { ...rest, truncated: true }, 'without its words: nobody listens')
  const { body: contact } = await project.get(`/contacts/${formatId('con', email.contact_id as string)}`)
  assert.deepEqual([contact.email, contact.name, contact.kind, contact.total_replies], ['ann@example.com', 'Ann', 'person', 0])
  assert.notEqual(contact.last_activity_at, null)
  const { body: mailboxes } = await project.get('/mailboxes')
  assert.equal(mailboxes[0].email_count, 1)
})

test('to two mailboxes of a project it is two e-mails and one raw message; to another project it is that project’s', async () => {
  const first = await newMailbox(app)
  const second = await newMailbox(app, first.project)
  const other = await newMailbox(app)
  const recipients = [first.address, second.address, other.address, first.address.replace('@', '+again@')]
  const { message } = await fileMail(app, { recipients })
  const mine = await emailsIn(app, first.project)
  const theirs = await emailsIn(app, other.project)
  assert.equal(new Set(mine.map(({ raw_key }) => raw_key)).size, 1)
  for (const [project, { raw_key }] of [
    [first.project, mine[0]],
    [other.project, theirs[0]],
  ] as [TestProject, EmailSeen][])
    assert.deepEqual(await readRawMail(app.services, { project_id: project.id, raw_key }), message.raw)
  assert.equal(await readRawMail(app.services, { project_id: other.project.id, raw_key: (mine[0] as EmailSeen).raw_key }), null)
  assert.deepEqual(new Set(mine.map(({ mailbox_id }) => formatId('mbx', mailbox_id))), new Set([first.id, second.id]))
  assert.equal(theirs.length, 1)
  assert.deepEqual(await first.project.events(), ['contact.created', 'email.received', 'email.received'])
  assert.deepEqual(await other.project.events(), ['contact.created', 'email.received'])
})

test('the same message again changes nothing, not even at the same moment', async () => {
  const { project, address } = await newMailbox(app)
  const mail = await accept(app, { recipients: [address] })
  await Promise.all([fileMessages(app.services, [mail]), fileMessages(app.services, [mail])])
  await fileMessages(app.services, [mail])
  assert.equal((await emailsIn(app, project)).length, 1)
  assert.deepEqual(await project.events(), ['contact.created', 'email.received'])
})

test('a writer who is being erased is waited for, and is a new contact then', async () => {
  const { project, address } = await newMailbox(app)
  await fileMail(app, { recipients: [address] })
  const contacts = () => app.services.database.many<{ id: string }>`select id from contacts where project_id = ${project.id}`
  const [former] = await contacts()
  const [erased, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const erasing = app.services.database.transaction(async (tx) => {
    await tx.run`delete from contacts where project_id = ${project.id}`
    erased.resolve()
    await ended.promise
  })
  await erased.promise
  const filing = fileMail(app, { recipients: [address] })
  try {
    await untilWaiting('%from contacts%for key share%')
  } finally {
    ended.resolve()
    await Promise.all([erasing, filing])
  }
  const [now, ...more] = await contacts()
  assert.ok(now && now.id !== former?.id && more.length === 0)
  assert.deepEqual(
    (await emailsIn(app, project)).map(({ contact_id }) => contact_id),
    [former?.id, now.id],
  )
})

test('an erasure waits while mail by that person is being filed', async () => {
  const { project, address } = await newMailbox(app)
  await fileMail(app, { recipients: [address] })
  const contact = await app.services.database.first<{ id: ContactId; email_key: string }>`
    select id, email_key from contacts where project_id = ${project.id}`
  assert.ok(contact)
  const [held, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const filing = app.services.database.transaction(async (tx) => {
    await holdContactsByAddress(tx, [{ project_id: project.id, email_key: contact.email_key }])
    held.resolve()
    await ended.promise
  })
  await held.promise
  const erasing = project.delete(`/contacts/${formatId('con', contact.id)}`)
  try {
    await untilWaiting('%contacts%for update%')
  } finally {
    ended.resolve()
    await filing
  }
  assert.ok((await erasing).status < 300)
})

const untilWaiting = (query: string) =>
  until('it waits', async () => {
    const waiting = await app.services.database.many`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like ${query}`
    return waiting.length > 0
  })

test('a batch is filed in its order, and a conversation within it stays together', async () => {
  const { project, address } = await newMailbox(app)
  const mails = [
    await accept(app, { recipients: [address], message_id: 'a@example.com', subject: 'Plan' }),
    await accept(app, {
      recipients: [address],
      message_id: 'b@example.com',
      subject: 'Re: Plan',
      headers: ['In-Reply-To: <a@example.com>'],
    }),
    await accept(app, { recipients: [address], message_id: 'c@example.com', subject: 'Other' }),
  ]
  await fileMessages(app.services, mails)
  const emails = await emailsIn(app, project)
  assert.deepEqual(
    emails.map(({ position, message_id }) => [position, message_id]),
    [
      [1, 'a@example.com'],
      [2, 'b@example.com'],
      [3, 'c@example.com'],
    ],
  )
  assert.deepEqual(
    emails.map(({ thread_id }) => thread_id),
    [emails[0]?.id, emails[0]?.id, emails[2]?.id],
  )
})

test('mail for a mailbox that was deleted since is dropped, for one that was paused or has ended it is kept', async () => {
  const gone = await newMailbox(app)
  const paused = await newMailbox(app, gone.project)
  const mail = await accept(app, { recipients: [gone.address, paused.address] })
  await gone.project.delete(`/mailboxes/${gone.id}`)
  await gone.project.patch(`/mailboxes/${paused.id}`, { status: 'paused' })
  await gone.project.events()
  await fileMessages(app.services, [mail])
  assert.deepEqual(
    (await emailsIn(app, gone.project)).map(({ mailbox_id }) => formatId('mbx', mailbox_id)),
    [paused.id],
  )
  assert.deepEqual(await gone.project.events(), ['contact.created', 'email.received'])
  assert.equal(await waitingMail(app), 0)
})

test('an invitation becomes a calendar event of the mailbox; a forged one does not', async () => {
  const { project, address, id } = await newMailbox(app)
  const invitation = (uid: string) => ({
    recipients: [address],
    headers: ['Content-Type: multipart/mixed; boundary="b"'],
    text: [
      '--b',
      'Content-Type: text/plain',
      '',
      'Come!',
      '--b',
      'Content-Type: text/calendar; method=REQUEST; charset=utf-8',
      '',
      'BEGIN:VCALENDAR',
      'VERSION:2.0',
      'METHOD:REQUEST',
      'BEGIN:VEVENT',
      `UID:${uid}`,
      'DTSTAMP:20261101T100000Z',
      'DTSTART:20261120T100000Z',
      'DTEND:20261120T110000Z',
      'SUMMARY:Tea',
      'ORGANIZER:mailto:ann@example.com',
      'END:VEVENT',
      'END:VCALENDAR',
      '--b--',
    ].join('\r\n'),
  })
  await fileMail(app, invitation('one'))
  await fileMail(app, { ...invitation('two'), verdicts: verdictsOf(null, 'fail') })
  assert.deepEqual(await project.events(), ['contact.created', 'email.received', 'calendar_event.created', 'email.received'])
  const { body: events } = await project.get(`/calendar-events?mailbox_id=${id}`)
  assert.deepEqual(
    events.map(({ title }: { title: string }) => title),
    ['Tea'],
  )
})

test('odd names are no trouble: no From, a Message-ID as long as a page, a thousand references', async () => {
  const { project, address } = await newMailbox(app)
  const headers = [`References: ${Array.from({ length: 1_000 }, (_, number) => `<${number}-${newId()}@x>`).join('\r\n ')}`]
  await fileMail(app, { recipients: [address], message_id: `${'x'.repeat(900)}@y`, headers, verdicts: verdictsOf(null, 'fail') })
  await fileMail(app, { recipients: [address], from: '', envelope_from: 'bob@example.com' })
  const emails = await emailsIn(app, project)
  assert.deepEqual(
    emails.map(({ message_id, from_address }) => [message_id === null, from_address]),
    [
      [true, 'ann@example.com'],
      [false, 'bob@example.com'],
    ],
  )
})
