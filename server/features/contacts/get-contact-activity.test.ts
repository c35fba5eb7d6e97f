import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSentPost } from '../../../tests/support/recipients.ts'
import { until } from '../../../tests/support/until.ts'
import { wrongTotals } from './repair-contacts.ts'

const app = await startApp()

test('joining, confirming and leaving, newest first', async () => {
  const project = await app.newProject()
  const [{ body: news }, { body: tips }] = [await project.post('/lists', { name: 'News' }), await project.post('/lists', { name: 'Tips' })]
  const later = async (doing: () => Promise<{ body: { id: string } }>) => {
    app.clock.advance(1_000)
    return (await doing()).body
  }
  const ann = await later(() => project.post(`/lists/${news.id}/subscribers`, { email: 'ann@example.com' }))
  await later(() => project.post(`/lists/${tips.id}/subscribers`, { email: 'ann@example.com', verified: true }))
  await later(() => project.patch(`/lists/${news.id}/subscribers/${ann.id}`, { status: 'active' }))
  await later(() => project.patch(`/lists/${news.id}/subscribers/${ann.id}`, { status: 'unsubscribed' }))
  await project.events()
  const [{ id }] = (await project.get('/contacts')).body
  const { status, body } = await project.get(`/contacts/${id}/activity`)
  assert.equal(status, 200)
  const times: string[] = body.map((item: { at: string }) => item.at)
  assert.deepEqual(times, times.toSorted().reverse())
  assert.ok(times.every((at) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at)))
  assert.deepEqual(body, [
    { kind: 'subscriber.unsubscribed', at: times[0], subject: 'News' },
    { kind: 'subscriber.confirmed', at: times[1], subject: 'News' },
    { kind: 'subscriber.created', at: times[2], subject: 'Tips' },
    { kind: 'subscriber.created', at: times[3], subject: 'News' },
  ])

  await project.delete(`/lists/${news.id}`)
  assert.deepEqual((await project.get(`/contacts/${id}/activity`)).body, body.slice(2, 3))
  const stranger = await (await app.newProject()).get(`/contacts/${id}/activity`)
  assert.equal(stranger.status, 404)
  assert.equal(stranger.body.error.code, 'not_found')
  assert.deepEqual(await project.events(), ['mailbox.deleted', 'list.deleted'])
})

test('the last 200 things at most', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'First' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })
  const { database } = app.services
  await database.run`
    insert into lists (project_id, id, name, subdomain, type, mailbox_id)
    select project_id, gen_random_uuid(), name || n, subdomain || n, type, mailbox_id from lists, generate_series(1, 210) n where project_id = ${project.id}`
  await database.run`
    insert into subscribers (project_id, list_id, id, contact_id, email, email_key, status, created_at)
    select s.project_id, l.id, gen_random_uuid(), s.contact_id, s.email, s.email_key, 'pending', s.created_at + interval '1 minute'
    from subscribers s join lists l using (project_id) where s.project_id = ${project.id} and l.name <> 'First'`
  const [{ id }] = (await project.get('/contacts')).body
  const { body } = await project.get(`/contacts/${id}/activity`)
  assert.equal(body.length, 200)
  assert.ok(body.every((item: { subject: string }) => item.subject !== 'First'))
})

test('what somebody got, opened, clicked, wrote and answered is in their activity, newest first', async () => {
  const { project, first } = await newSentPost(app)
  const headers = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
  await fetch(`${app.url}/o/${first.tokens.open}.gif`, { headers })
  app.clock.advance(1_000)
  await fetch(`${app.url}/c/${first.tokens.click}/0`, { redirect: 'manual', headers })
  const { id } = await until('the click to be counted', async () => {
    const contact = (await project.get('/contacts')).body[0]
    return contact.total_clicks === 1 ? contact : null
  })
  app.clock.advance(1_000)
  const { address } = (await project.post('/mailboxes', { name: 'Desk' })).body
  await project.post('/emails', { from: address, to: first.email, subject: 'A receipt', text: 'Hello' })
  app.clock.advance(1_000)
  await fileMail(app, { recipients: [address], from: first.email, subject: 'By the way' })
  app.clock.advance(1_000)
  await fileMail(app, { recipients: [address], from: first.email, subject: 'Re: A receipt', headers: ['In-Reply-To: <x@posthaste.test>'] })
  app.clock.advance(1_000)
  await fileMail(app, {
    recipients: [address],
    from: first.email,
    subject: 'Re: Lunch',
    headers: ['In-Reply-To: <somebody@elsewhere.test>'],
  })
  const { body } = await project.get(`/contacts/${id}/activity`)
  assert.deepEqual(
    body.map(({ kind, subject }: Record<string, string>) => [kind, subject]),
    [
      ['email.received', 'Re: Lunch'],
      ['email.replied', 'Re: A receipt'],
      ['email.received', 'By the way'],
      ['email.delivered', 'A receipt'],
      ['email.clicked', 'Hello'],
      ['email.opened', 'Hello'],
      ['email.delivered', 'Hello'],
      ['subscriber.created', 'News'],
    ],
  )
  const contact = (await project.get('/contacts')).body[0]
  assert.deepEqual([contact.total_received, contact.total_opens, contact.total_clicks], [2, 1, 1])
  assert.ok(contact.last_activity_at >= body[1].at)
  assert.deepEqual(await wrongTotals(app.services.database, new Date(0)), [])
})
