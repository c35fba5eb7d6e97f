import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDnsPeer } from './support/dns-peer.ts'
import { receive } from './support/inbound.ts'
import { judgeMail } from './support/judge-mail.ts'
import { startApp } from './support/posthaste.ts'
import { mailTo } from './support/received-mail.ts'
import { addRecords, hourMs, loseSender, newSenderList, type SenderList, setUp, verifySender } from './support/senders.ts'
import { greetedSmtp } from './support/smtp-client.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** What leaves, and what comes, in the name of a list's own domain: judged by a verifier that is not ours, which asks the same DNS. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
// What the operator has in DNS for all who point at it.
const dns = await startDnsPeer({ 'rp.posthaste.test': { MX: [[10, 'posthaste.test']], TXT: ['v=spf1 ip4:127.0.0.1 -all'] } })
test.after(() => dns.close())
// Without the scheduler, whose checks would come by the clock on the wall.
const app = await startApp({
  OUTBOUND: `smtp://127.0.0.1:${peer.port}`,
  DNS_SERVERS: dns.address,
  ROLES: 'http,sender,inbound,consumers',
})
const { database } = app.services

let number = 0
const newReader = async ({ project, id }: SenderList): Promise<string> => {
  const email = `sender-reader-${++number}@example.org`
  await project.post(`/lists/${id}/subscribers`, { email, verified: true })
  return email
}

async function newPostOf({ project, id }: SenderList, body: object = {}): Promise<string> {
  const { body: post } = await project.post(`/lists/${id}/posts`, { subject: 'Hello', body_html: '<p>Hi</p>', ...body })
  return `/lists/${id}/posts/${post.id}`
}

/** Sends a new post to one new reader, and answers what arrives there. */
async function postTo(list: SenderList) {
  const email = await newReader(list)
  const path = await newPostOf(list)
  const { status, body } = await list.project.post(`${path}/send`)
  assert.equal(status, 202, JSON.stringify(body))
  const mail = await mailTo(peer, email)
  await until('the end of the broadcast', async () => (await list.project.get(path)).body.status === 'sent')
  await list.project.delete(`/lists/${list.id}/subscribers/${encodeURIComponent(email)}`)
  return mail
}

test('until its domain is verified a list sends from its mailbox, and from the next post on after that in its own name', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  const { body: detail } = await list.project.get(`/lists/${list.id}`)
  const before = await postTo(list)
  assert.deepEqual([before.from?.name, before.from?.address], ['Ann', detail.mailbox_address])
  assert.deepEqual(
    before.replyTo?.map(({ address }) => address),
    [`hello@${list.domain}`],
  )
  assert.match(before.message.from, /^b\+\w{52}@posthaste\.test$/)

  addRecords(dns, list.domain, records)
  assert.equal((await list.check()).status, 'verified')
  const after = await postTo(list)
  assert.deepEqual([after.from?.name, after.from?.address], ['Ann', `hello@${list.domain}`])
  assert.deepEqual(
    after.replyTo?.map(({ address }) => address),
    [`hello@${list.domain}`],
  )
  assert.match(after.message.from, new RegExp(`^b\\+\\w{52}@bounce\\.${list.domain}$`))
  assert.match(after.messageId ?? '', new RegExp(`^<dlv_\\w{26}@${list.domain}>$`))
  const listId = (mail: typeof after) => mail.headers.find(({ key }) => key === 'list-id')?.value
  assert.equal(listId(after), listId(before))
  assert.deepEqual(await judgeMail(after, dns.address), {
    spf: 'pass',
    dkim: [`${list.domain} rsa-sha256 pass`, `${list.domain} ed25519-sha256 pass`],
    dmarc: 'pass',
  })

  await list.project.delete(list.path)
  assert.deepEqual((await postTo(list)).from?.address, detail.mailbox_address)
})

test('single mail of a list, and what comes back, goes the same way', async () => {
  const list = await newSenderList(app)
  await verifySender(dns, list)
  await list.project.patch(`/lists/${list.id}`, { reply_to: 'answers@example.org' })
  const email = `confirm-${++number}@example.org`
  await list.project.post(`/lists/${list.id}/subscribers`, { email })
  const mail = await mailTo(peer, email)
  assert.deepEqual([mail.from?.address, mail.replyTo?.[0]?.address], [`hello@${list.domain}`, 'answers@example.org'])
  assert.match(mail.message.from, new RegExp(`^b\\+\\w{52}@bounce\\.${list.domain}$`))
  assert.equal((await judgeMail(mail, dns.address)).dmarc, 'pass')

  // The address at the customer's domain is ours to take mail for.
  const client = await greetedSmtp({ port: app.smtpPort })
  await client.say('EHLO test.example')
  assert.match(await client.say('MAIL FROM:<>'), /^250/)
  assert.match(await client.say(`RCPT TO:<${mail.message.from}>`), /^250/)
  assert.match(await client.say(`RCPT TO:<b+nobody@bounce.${list.domain}>`), /^550/)
  client.close()
})

test('mailboxes at a verified domain take mail and send it; at any other they are refused', async () => {
  const list = await newSenderList(app)
  const { project, domain } = list
  const records = await setUp(list)
  await project.events()
  const early = await project.post('/mailboxes', { address: `ann@${domain}` })
  assert.deepEqual([early.status, early.body.error.code], [422, 'validation_error'])
  assert.match(early.body.error.message, /or with a domain that is verified as a list’s sender/)
  assert.equal((await project.post('/mailboxes', { domain })).status, 422)
  assert.deepEqual(await project.events(), [])

  addRecords(dns, domain, records)
  await list.check()
  const { status, body: mailbox } = await project.post('/mailboxes', { address: `Postmaster@${domain}` })
  assert.deepEqual([status, mailbox.address], [201, `postmaster@${domain}`])
  const made = await project.post('/mailboxes', { domain })
  assert.ok(made.body.address.endsWith(`@${domain}`))
  assert.equal((await (await app.newProject()).post('/mailboxes', { address: `eve@${domain}` })).status, 422)
  // Whoever takes mail there is shown the record that brings it.
  const mx = (await list.get()).records.at(-1)
  assert.deepEqual([mx.type, mx.name, mx.value, mx.found], ['MX', domain, '10 posthaste.test', false])

  await receive(app, `postmaster@${domain}`, { subject: 'To the domain' })
  await until('the mail', async () => (await project.get(`/mailboxes/${mailbox.id}/emails`)).body.length === 1)

  const to = `single-${++number}@example.org`
  const sent = await project.post('/emails', { from: mailbox.address, to, subject: 'Single', text: 'Hi' })
  assert.equal(sent.status, 201, JSON.stringify(sent.body))
  const mail = await mailTo(peer, to)
  assert.equal(mail.from?.address, `postmaster@${domain}`)
  assert.match(mail.messageId ?? '', new RegExp(`^<eml_\\w{26}@${domain}>$`))
  assert.match(mail.message.from, new RegExp(`^b\\+\\w{52}@bounce\\.${domain}$`))
  assert.equal((await judgeMail(mail, dns.address)).dmarc, 'pass')
  const other = `single-${++number}@example.org`
  const answer = { to_address: other, subject: 'Answer', text_body: 'Hi' }
  assert.equal((await project.post(`/mailboxes/${mailbox.id}/emails`, answer)).status, 201)
  assert.match((await mailTo(peer, other)).message.from, new RegExp(`@bounce\\.${domain}$`))

  // The domain stays while a mailbox needs it, without any list.
  await project.delete(list.path)
  assert.equal((await project.post('/emails', { from: mailbox.address, to, subject: 'Still', text: 'Hi' })).status, 201)
  await loseSender(app, dns, records)
  await project.events()
  const refused = await project.post('/emails', { from: mailbox.address, to, subject: 'No', text: 'Hi' })
  assert.match(refused.body.error.message, /^from: is at .* which is not verified now/)
  const refusedToo = await project.post(`/mailboxes/${mailbox.id}/emails`, answer)
  assert.match(refusedToo.body.error.message, /^mailbox: is at/)
  assert.deepEqual([refused.status, refusedToo.status, await project.events()], [422, 422, []])
})

test('posts wait for a domain that is lost, those on their way as well, and go on by themselves', async () => {
  const list = await newSenderList(app)
  const { project, domain } = list
  const records = await verifySender(dns, list)
  const email = await newReader(list)
  const path = await newPostOf(list)
  atRcpt = ({ line }) => (line.includes(email) ? '450 4.2.0 come again' : undefined)
  await project.post(`${path}/send`)
  await until(
    'the first try',
    async () => database.first`select 1 from deliveries where project_id = ${project.id} and status = 'queued' and attempts > 0`,
  )
  await project.events()
  await loseSender(app, dns, records)
  assert.deepEqual(await project.events(), ['post.paused', 'list.updated'])
  atRcpt = () => undefined
  const second = await newPostOf(list, { subject: 'Second' })
  await project.events()
  const refused = await project.post(`${second}/send`)
  assert.deepEqual([refused.status, refused.body.error.code], [422, 'validation_error'])
  assert.match(refused.body.error.message, new RegExp(`^sender: the DNS records of ${domain} are gone`))
  const resumed = await project.post(`${path}/resume`)
  assert.equal(resumed.status, 422)
  assert.match(resumed.body.error.message, /^sender: the DNS records of .* which this post was begun from, are gone/)
  assert.deepEqual(await project.events(), [])
  assert.equal(peer.messages.filter(({ to }) => to.includes(email)).length, 0)
  // Who signs up is still asked to confirm, from the default address.
  const newcomer = `confirm-${++number}@example.org`
  await project.post(`/lists/${list.id}/subscribers`, { email: newcomer })
  assert.match((await mailTo(peer, newcomer)).from?.address ?? '', /@posthaste\.test$/)
  await project.events()

  addRecords(dns, domain, records)
  assert.equal((await list.check()).status, 'verified')
  const told = (await project.events()).filter((type) => type !== 'post.delivered')
  assert.deepEqual(told, ['post.resumed', 'list.updated'])
  // It was put off before, and has its time.
  app.clock.advance(12 * hourMs)
  const mail = await mailTo(peer, email)
  assert.equal(mail.from?.address, `hello@${domain}`)
  assert.equal((await judgeMail(mail, dns.address)).dmarc, 'pass')
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  assert.equal((await project.post(`${second}/send`)).status, 202)
})

test('what another project has verified is not read by who had it before', async () => {
  const first = await newSenderList(app)
  const records = await verifySender(dns, first)
  const { body: mailbox } = await first.project.post('/mailboxes', { address: `ann@${first.domain}` })
  await receive(app, mailbox.address)
  await loseSender(app, dns, records)
  await receive(app, mailbox.address)
  const second = await newSenderList(app, { domain: first.domain })
  await verifySender(dns, second)
  const client = await greetedSmtp({ port: app.smtpPort })
  await client.say('EHLO test.example')
  assert.match(await client.say('MAIL FROM:<a@example.com>'), /^250/)
  await until('the answer to change', async () => (await client.say(`RCPT TO:<${mailbox.address}>`)).startsWith('550'))
  client.close()
})
