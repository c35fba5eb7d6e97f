import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startDnsPeer } from './support/dns-peer.ts'
import { fileMail, verdictsOf } from './support/inbound.ts'
import { startApp } from './support/posthaste.ts'
import { mailsTo, mailTo } from './support/received-mail.ts'
import { addRecords, hourMs, loseSender, minuteMs, newSenderList, runDue, type SenderList, verifySender } from './support/senders.ts'
import { greetedSmtp } from './support/smtp-client.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** Whatever way it takes, mail leaves in the name of a domain only while the project that sends it has that domain, signed by its own key. */
let isPutOff = (_line: string): boolean => false
const atRcpt = ({ line }: PeerCall): PeerAction | undefined => (isPutOff(line) ? '450 4.2.0 come again' : undefined)
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const dns = await startDnsPeer({})
test.after(() => dns.close())
// Without the scheduler, whose checks would come by the clock on the wall.
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}`, DNS_SERVERS: dns.address, ROLES: 'http,sender,inbound,consumers' })
const { database } = app.services

let number = 0
const newReader = async ({ project, id }: SenderList): Promise<string> => {
  const email = `lost-reader-${++number}@example.org`
  await project.post(`/lists/${id}/subscribers`, { email, verified: true })
  return email
}

async function newPostOf({ project, id }: SenderList): Promise<string> {
  const { body } = await project.post(`/lists/${id}/posts`, { subject: 'Hello', body_html: '<p>Hi</p>' })
  return `/lists/${id}/posts/${body.id}`
}

/** A post that was put off for its only reader. */
async function newPostPutOff(list: SenderList): Promise<{ path: string; email: string }> {
  const email = await newReader(list)
  const path = await newPostOf(list)
  isPutOff = (line) => line.includes(email)
  assert.equal((await list.project.post(`${path}/send`)).status, 202)
  await until(
    'the first try',
    () => database.first`
      select 1 from deliveries where project_id = ${list.project.id} and email = ${email} and status = 'queued' and attempts > 0`,
  )
  return { path, email }
}

/** The same, until it was given up. */
async function newPostGivenUp(list: SenderList): Promise<{ path: string; email: string }> {
  const { path, email } = await newPostPutOff(list)
  await database.run`update deliveries set attempts = 9 where project_id = ${list.project.id} and email = ${email}`
  app.clock.advance(17 * hourMs)
  await until('the end', async () => (await list.project.get(path)).body.status === 'sent')
  isPutOff = () => false
  return { path, email }
}

/** What was begun before a domain was lost is over. */
const untilNothingIsInHand = ({ project }: SenderList) =>
  until(
    'nothing to be on its way',
    async () => (await database.first`select 1 from deliveries where project_id = ${project.id} and status = 'sending'`) === null,
  )

const selectorsOf = (raw: Buffer): string[] =>
  [...raw.toString('latin1').matchAll(/[;\s]s=([a-z\d-]+)/g)].map(([, selector]) => selector as string)
const selectorIn = ([record]: { name: string }[]): string => String(record?.name.split('.')[0])

/** Who got mail in the name of a domain after the first so many mails. */
const readersOf = (domain: string, since: number): string[] =>
  peer.messages.slice(since).flatMap(({ raw, to }) => (new RegExp(`^From: .*@${domain}`, 'm').test(raw.toString('latin1')) ? to : []))

test('a domain that has become another project’s is signed for by nobody else, whatever the former owner tries', async () => {
  const first = await newSenderList(app)
  const { project, domain } = first
  const records = await verifySender(dns, first)
  const given = await newPostGivenUp(first)
  const waiting = await newPostPutOff(first)
  const { body: mailbox } = await project.post('/mailboxes', { address: `ann@${domain}` })
  await loseSender(app, dns, records)
  await untilNothingIsInHand(first)
  isPutOff = () => false
  const since = peer.messages.length
  const second = await newSenderList(app, { domain })
  const theirs = await verifySender(dns, second)
  await project.events()

  const fresh = await newPostOf(first)
  await project.events()
  const refusals: [path: string, body: object | undefined, message: RegExp][] = [
    [`${fresh}/send`, undefined, /^sender: the DNS records of .* are gone/],
    [`${waiting.path}/resume`, undefined, /^sender: the DNS records of .* which this post was begun from, are gone/],
    [`${given.path}/deliveries/retry`, undefined, /^sender: the DNS records of .* which this post was begun from, are gone/],
    [`/mailboxes/${mailbox.id}/emails`, { to_address: 'x@example.org', subject: 'No', text_body: 'Hi' }, /which is not verified now/],
    ['/emails', { from: mailbox.address, to: 'x@example.org', subject: 'No', text: 'Hi' }, /^from: names no mailbox of this project/],
  ]
  const tryAll = async () => {
    for (const [path, body, message] of refusals) {
      const answer = await project.post(path, body)
      assert.equal(answer.status, 422, path)
      assert.match(answer.body.error.message, message, path)
    }
    assert.deepEqual(await project.events(), [])
  }
  await tryAll()
  // Without the sender, and so without its keys, it is nobody's, and not the other's.
  await project.post(`${waiting.path}/abort`)
  await project.delete(`/mailboxes/${mailbox.id}`)
  assert.equal((await project.delete(first.path)).status, 204)
  await project.events()
  const retried = await project.post(`${given.path}/deliveries/retry`)
  assert.equal(retried.status, 422)
  assert.match(retried.body.error.message, /^sender: this post was begun from .*, which is no sender of this project any more/)
  assert.deepEqual(await project.events(), [])
  // From the default address it goes on.
  assert.equal((await project.post(`${fresh}/send`)).status, 202)
  assert.match((await mailTo(peer, waiting.email)).from?.address ?? '', /@posthaste\.test$/)

  const own = await newReader(second)
  assert.equal((await second.project.post(`${await newPostOf(second)}/send`)).status, 202)
  assert.ok(selectorsOf((await mailTo(peer, own)).message.raw).includes(selectorIn(theirs)))
  assert.deepEqual(readersOf(domain, since), [own])
})

test('an answer through a mailbox goes out while its domain is verified, and is kept while it is not', async () => {
  const list = await newSenderList(app)
  const { project, domain } = list
  const records = await verifySender(dns, list)
  const [owner, outside] = [`owner-${++number}@home.example`, `lea-${number}@outside.example`]
  const { body: mailbox } = await project.post('/mailboxes', {
    type: 'proxy',
    name: 'Shop',
    address: `shop@${domain}`,
    config: { forward_to: owner },
  })
  await fileMail(app, { recipients: [mailbox.address], from: outside, envelope_from: outside })
  const forward = await mailTo(peer, owner)
  const through = forward.from?.address as string
  const answer = {
    recipients: [through],
    from: owner,
    envelope_from: owner,
    headers: [`In-Reply-To: ${forward.messageId}`],
    verdicts: verdictsOf('home.example'),
  }
  await fileMail(app, answer)
  const passed = await mailTo(peer, outside)
  assert.equal(passed.from?.address, mailbox.address)
  assert.match(passed.message.from, new RegExp(`^b\\+\\w{52}@bounce\\.${domain}$`))
  assert.ok(selectorsOf(passed.message.raw).includes(selectorIn(records)))

  await loseSender(app, dns, records)
  const second = await newSenderList(app, { domain })
  await verifySender(dns, second)
  await project.events()
  await fileMail(app, answer)
  assert.deepEqual(await project.events(), [])
  const kept = await database.first`
    select status, reason from emails where project_id = ${project.id} and direction = 'outbound' order by id desc limit 1`
  const reason = `The mailbox is at ${domain}, which is not verified now: receivers would take the mail for forged`
  assert.deepEqual(kept, { status: 'failed', reason })
  const told = await database.first<{ text: string }>`
    select mail->>'text' as text from messages where kind = 'reply_refused' and recipient_key = ${owner}`
  assert.ok(told?.text.includes(`${reason}.`), told?.text)
  assert.equal(mailsTo(peer, outside).length, 1)
  // By SMTP it would not even be taken.
  const client = await greetedSmtp({ port: app.smtpPort })
  await client.say('EHLO test.example')
  assert.match(await client.say('MAIL FROM:<a@example.com>'), /^250/)
  assert.match(await client.say(`RCPT TO:<${through}>`), /^550/)
  client.close()
})

test('what waited in the queue when its domain was lost: a list’s goes from its mailbox, a mailbox’s waits', async () => {
  const list = await newSenderList(app)
  const { project, domain } = list
  const records = await verifySender(dns, list)
  const { body: detail } = await project.get(`/lists/${list.id}`)
  const [owner, outside] = [`owner-${++number}@home.example`, `lea-${number}@outside.example`]
  const config = { forward_to: owner }
  const { body: mailbox } = await project.post('/mailboxes', { type: 'proxy', address: `shop@${domain}`, config })
  await fileMail(app, { recipients: [mailbox.address], from: outside, envelope_from: outside })
  const { from } = await mailTo(peer, owner)
  const newcomer = `newcomer-${++number}@example.org`
  isPutOff = (line) => line.includes(newcomer) || line.includes(outside)
  await project.post(`/lists/${list.id}/subscribers`, { email: newcomer })
  const verdicts = verdictsOf('home.example')
  await fileMail(app, { recipients: [from?.address as string], from: owner, envelope_from: owner, verdicts })
  const waiting = () => database.many<{ recipient: string; reason: string }>`
    select recipient, reason from messages where project_id = ${project.id} and status = 'queued' and attempts > 0 order by kind`
  await until('both to be put off', async () => (await waiting()).length === 2)
  isPutOff = () => false
  // Lost in a moment: by the clock, they would have been given up before.
  await database.transaction(async (tx) => {
    await tx.run`update sender_domains set status = 'failed', trouble = 'gone' where project_id = ${project.id} and domain = ${domain}`
    await tx.run`update dkim_keys set status = 'pending' where project_id = ${project.id} and domain = ${domain}`
  })
  app.clock.advance(3 * minuteMs)
  const mail = await mailTo(peer, newcomer)
  assert.deepEqual([mail.from?.address, mail.replyTo?.[0]?.address], [detail.mailbox_address, `hello@${domain}`])
  assert.match(mail.message.from, /^b\+\w{52}@posthaste\.test$/)
  const kept = await until('the answer to wait for its domain', async () =>
    (await waiting()).find(({ reason }) => reason.startsWith(`${domain} is not verified for this project now`)),
  )
  assert.equal(kept.recipient, outside)
  assert.equal(mailsTo(peer, outside).length, 0)

  addRecords(dns, domain, records)
  assert.equal((await list.check()).status, 'verified')
  app.clock.advance(hourMs)
  assert.ok(selectorsOf((await mailTo(peer, outside)).message.raw).includes(selectorIn(records)))
  assert.equal(mailsTo(peer, newcomer).length, 1)
})

test('a post that begins while its domain is being lost is found by who finds it lost', async () => {
  const list = await newSenderList(app)
  const records = await verifySender(dns, list)
  const email = await newReader(list)
  const path = await newPostOf(list)
  isPutOff = (line) => line.includes(email)
  for (const { name } of records) delete dns.names[name]
  for (const hours of [6, 1]) {
    app.clock.advance(hours * hourMs)
    await runDue(app)
  }
  app.clock.advance(24 * hourMs)
  // Its transaction has seen a verified domain, and is held up before it ends.
  const door = 7_310_415
  await database.run`
    create function wait_at_door() returns trigger language plpgsql as $$
    begin
      if new.type = 'post.sent' then perform pg_advisory_xact_lock(7310415); end if;
      return new;
    end $$`
  await database.run`create trigger wait_at_door before insert on events for each row execute function wait_at_door()`
  const isWaiting = (query: string) => async () =>
    (await database.first`
      select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like ${query}`) !== null
  const held: { sending?: ReturnType<typeof list.project.post>; checking?: Promise<{ status: string }> } = {}
  await database.transaction(async (tx) => {
    await tx.run`select pg_advisory_xact_lock(${door})`
    held.sending = list.project.post(`${path}/send`)
    await until('the post to be held up', isWaiting('%insert into events%'))
    held.checking = list.check()
    await until('the check to wait for it', isWaiting('%from sender_domains%for update%'))
  })
  assert.equal((await held.sending)?.status, 202)
  assert.equal((await held.checking)?.status, 'failed')
  await database.run`drop trigger wait_at_door on events`
  const { body } = await list.project.get(path)
  assert.equal(body.broadcast.status, 'paused')
  assert.match(body.broadcast.reason, /are gone, and receivers would take this post for forged/)

  // Should one be on its way all the same, nothing of it leaves, and the next check holds it.
  const { domain, project } = list
  await untilNothingIsInHand(list)
  app.clock.advance(12 * hourMs)
  await database.run`update broadcasts set status = 'sending', reason = null where project_id = ${project.id}`
  await until(
    'it to be put off',
    () => database.first`
      select 1 from deliveries where project_id = ${project.id} and status = 'queued'
        and reason like ${`${domain} is not verified for this project now%`}`,
  )
  await runDue(app)
  assert.equal((await project.get(path)).body.broadcast.status, 'paused')
  assert.equal(mailsTo(peer, email).length, 0)
  isPutOff = () => false
})
