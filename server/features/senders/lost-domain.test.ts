import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addRecords, loseSender, newSenderList, runDue, type SenderList, setUp, verifySender } from '../../../tests/support/senders.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http' })
const { database } = app.services

test('who chooses a lost domain anew for one list leaves the others as they were', async () => {
  const first = await newSenderList(app)
  const records = await verifySender(dns, first)
  const second = await newSenderList(app, { project: first.project, domain: first.domain })
  await setUp(second)
  await first.project.post(`/lists/${first.id}/subscribers`, { email: 'reader@example.org', verified: true })
  const { body: post } = await first.project.post(`/lists/${first.id}/posts`, { subject: 'Hello', body_html: '<p>Hi</p>' })
  const path = `/lists/${first.id}/posts/${post.id}`
  await loseSender(app, dns, records)
  assert.equal((await first.project.post(`${path}/send`)).status, 422)
  const { body } = await second.put({ type: 'custom_domain', name: 'New', email: 'new', domain: first.domain })
  assert.equal(body.status, 'pending')
  assert.match(body.next_step, /Until then posts wait/)
  await first.project.events()
  const refused = await first.project.post(`${path}/send`)
  assert.equal(refused.status, 422)
  assert.match(refused.body.error.message, /^sender: the DNS records of/)
  assert.deepEqual(await first.project.events(), [])
})

test('whoever has a domain now gives its addresses away; those who had it keep their mail, and have them back with the domain', async () => {
  const first = await newSenderList(app)
  const { domain } = first
  const ours = await verifySender(dns, first)
  const address = `ann@${domain}`
  const { body: mailbox } = await first.project.post('/mailboxes', { address })
  await fileMail(app, { recipients: [address], subject: 'Before' })
  const retired = await first.project.post('/mailboxes', { address: `old@${domain}` })
  await first.project.delete(`/mailboxes/${retired.body.id}`)
  await loseSender(app, dns, ours)
  const second = await newSenderList(app, { domain })
  const theirs = await verifySender(dns, second)
  const made = await second.project.post('/mailboxes', { address })
  assert.deepEqual([made.status, made.body.address], [201, address])
  assert.equal((await second.project.post('/mailboxes', { address: `old@${domain}` })).status, 201)
  await fileMail(app, { recipients: [address], subject: 'After' })
  const subjects = async ({ project }: SenderList, id: string) =>
    (await project.get(`/mailboxes/${id}/emails`)).body.map(({ subject }: { subject: string }) => subject)
  assert.deepEqual(await subjects(second, made.body.id), ['After'])
  assert.deepEqual(await subjects(first, mailbox.id), ['Before'])
  assert.equal((await first.project.get(`/mailboxes/${mailbox.id}`)).body.address, address)

  await loseSender(app, dns, theirs)
  addRecords(dns, domain, ours)
  assert.equal((await first.check()).status, 'verified')
  await fileMail(app, { recipients: [address], subject: 'Again' })
  assert.deepEqual((await subjects(first, mailbox.id)).sort(), ['Again', 'Before'])
  assert.deepEqual(await subjects(second, made.body.id), ['After'])
})

test('a verified domain goes within the minute when its list is deleted, or its last mailbox', async () => {
  const list = await newSenderList(app)
  const { project, domain } = list
  await verifySender(dns, list)
  const { body: mailbox } = await project.post('/mailboxes', { address: `ann@${domain}` })
  const isThere = async () => (await database.first`select 1 from sender_domains where project_id = ${project.id}`) !== null
  await project.delete(`/lists/${list.id}`)
  await runDue(app)
  assert.ok(await isThere())
  await project.delete(`/mailboxes/${mailbox.id}`)
  await runDue(app)
  assert.equal(await isThere(), false)
  // What has signed is remembered, so that its name in DNS is given to no other key.
  const keys = await database.many<{ status: string }>`select status from dkim_keys where project_id = ${project.id}`
  assert.deepEqual(
    keys.map(({ status }) => status),
    ['retired', 'retired'],
  )
  const other = await newSenderList(app)
  await verifySender(dns, other)
  await other.project.delete(`/lists/${other.id}`)
  await runDue(app)
  assert.equal(await database.first`select 1 from sender_domains where project_id = ${other.project.id}`, null)
})
