import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { mailsTo } from '../../../tests/support/received-mail.ts'
import { suppressionsOf } from '../../../tests/support/recipients.ts'
import { bounceAbout, complaintAbout } from '../../../tests/support/reports.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { assertCounts } from '../../../tests/support/subscribers.ts'
import { until } from '../../../tests/support/until.ts'
import { type ContactId, formatId } from '../../base/ids.ts'
import { readBackchannel } from '../../mail/reports/read-backchannel.ts'
import { parseVerp } from '../../mail/verp.ts'
import { applyBackchannelMail } from './apply-inbound.ts'

/** What comes back about mails that are no copies of a broadcast: those of POST /emails, confirmations, test copies. */
let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const atDot: PeerAction[] = []
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction, atDot: () => atDot.shift() as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services
const day = 86_400_000

let number = 0
const newAddress = () => `single-${++number}@example.org`
const refuse = (address: string, says: string) => {
  atRcpt = ({ line }) => (line.includes(address) ? says : undefined)
}

/** Of the newest mail to an address. */
const tokenTo = (email: string) => ({ email, token: parseVerp(mailsTo(peer, email).at(-1)?.from ?? '') ?? assert.fail('no VERP') })

async function newSender() {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  await project.events()
  return { project, list, from: list.mailbox_address as string }
}

/** A mail of POST /emails, sent, and what is in its return path. */
async function send({ project, from }: { project: TestProject; from: string }, to: string) {
  const mail = { to, from, subject: 'Receipt', text: 'x', tag: 'receipt', metadata: { order: '17' } }
  const { status, body } = await project.post('/emails', mail)
  assert.equal(status, 201, JSON.stringify(body))
  return { ...tokenTo(to), id: body.id as string, record: body }
}
const statusOf = async (project: TestProject, id: string) => {
  const { status, reason } = (await project.get(`/emails/${id}`)).body
  return [status, reason]
}

test('a hard bounce of a single mail: its record, the lists, the suppressions and one event tell', async () => {
  const sender = await newSender()
  const { project, list } = sender
  const to = newAddress()
  const { body: second } = await project.post('/lists', { name: 'Second' })
  for (const { id } of [list, second]) await project.post(`/lists/${id}/subscribers`, { email: to, verified: true })
  const contact = await database.first<{ id: ContactId }>`select id from contacts where project_id = ${project.id}`
  const sent = await send(sender, to)
  assert.deepEqual(await statusOf(project, sent.id), ['delivered', null])
  await project.events()
  assert.equal(await bounceAbout(app, { ...sent, email: to.toUpperCase() }), 'bounce')
  assert.deepEqual(await statusOf(project, sent.id), ['bounced', 'There is no such mailbox'])
  const row = await database.first`select smtp_code, enhanced_code from emails where project_id = ${project.id}`
  assert.deepEqual({ ...(row as object) }, { smtp_code: 550, enhanced_code: '5.1.1' })
  assert.deepEqual(await suppressionsOf(project), [[to, 'hard_bounce']])
  for (const { id } of [list, second]) await assertCounts(app, project, id, { bounced: 1 })
  const { id, provider_message_id, ...rest } = sent.record
  assert.deepEqual(await project.eventsWithData(), [
    {
      type: 'email.bounced',
      data: {
        email_id: id,
        mailbox_id: list.mailbox_id,
        list_id: null,
        post_id: null,
        subscriber_id: null,
        contact_id: formatId('con', contact?.id as ContactId),
        from: rest.from,
        to,
        subject: 'Receipt',
        message_id: provider_message_id,
        tag: 'receipt',
        metadata: { order: '17' },
        email: (await project.get(`/emails/${id}`)).body,
        bounce: { kind: 'hard', smtp_code: 550, enhanced_code: '5.1.1', reason: 'There is no such mailbox' },
      },
    },
  ])
  // The same once more, and another report: a mail has one fate.
  await bounceAbout(app, sent)
  await complaintAbout(app, sent)
  assert.deepEqual(await project.events(), [])
  assert.equal((await project.post('/emails', { to, from: sender.from, subject: 'x', text: 'x' })).status, 422)
})

test('a complaint about a single mail suppresses, and unsubscribes from every list of the project', async () => {
  const sender = await newSender()
  const other = await newSender()
  const { project, list } = sender
  const to = newAddress()
  for (const one of [sender, other]) await one.project.post(`/lists/${one.list.id}/subscribers`, { email: to, verified: true })
  const sent = await send(sender, to)
  await project.events()
  await other.project.events()
  assert.equal(await complaintAbout(app, sent), 'complaint')
  assert.deepEqual(await statusOf(project, sent.id), ['complained', 'The recipient reported it as spam'])
  assert.deepEqual(await suppressionsOf(project), [[to, 'complaint']])
  await assertCounts(app, project, list.id, { unsubscribed: 1 })
  assert.deepEqual(await project.events(), ['email.complained', 'subscriber.unsubscribed'])
  await assertCounts(app, other.project, other.list.id, { active: 1 })
  assert.deepEqual([await suppressionsOf(other.project), await other.project.events()], [[], []])
})

test('full mailboxes on three days end it, also for who is no contact; a refusal of the message says nothing of the address', async () => {
  const sender = await newSender()
  const { project } = sender
  const to = newAddress()
  // Noon: three within a second must not be two days.
  app.clock.advance(1.5 * day - (app.clock.now().getTime() % day))
  for (const status of ['5.2.2', '5.2.2', '5.7.1']) {
    const sent = await send(sender, to)
    await bounceAbout(app, sent, status, status === '5.7.1' ? 'not from you' : 'over quota')
    assert.equal((await statusOf(project, sent.id))[0], 'bounced')
  }
  app.clock.advance(day)
  await bounceAbout(app, await send(sender, to), '5.2.2', 'over quota')
  assert.deepEqual(await suppressionsOf(project), [], 'two days')
  app.clock.advance(day)
  const last = await send(sender, to)
  await project.events()
  await bounceAbout(app, last, '5.2.2', 'over quota')
  assert.deepEqual(await suppressionsOf(project), [[to, 'soft_bounces']])
  assert.deepEqual(await project.events(), ['email.bounced'])
  // Whoever lifts it begins anew.
  await project.delete(`/suppressions/${encodeURIComponent(to)}`)
  await bounceAbout(app, await send(sender, to), '5.2.2', 'over quota')
  assert.deepEqual(await suppressionsOf(project), [])
})

test('a bounce that is quicker than the answer to the sender is the last word', async () => {
  const { project, from } = await newSender()
  const to = newAddress()
  atDot.push({ delayMs: 1_500 })
  const sending = project.post('/emails', { to, from, subject: 'x', text: 'x' })
  const rcpt = await until('the mail to be under way', () => peer.commands.findIndex((one) => one.includes(to)) + 1 || null)
  const mailFrom = peer.commands.slice(0, rcpt).findLast((one) => /^MAIL/i.test(one)) ?? ''
  const token = parseVerp(/<(.*?)>/.exec(mailFrom)?.[1] ?? '') as string
  await until('its row', async () => database.first`select 1 from emails where project_id = ${project.id} and status = 'sending'`)
  assert.equal(await bounceAbout(app, { token, email: to }), 'bounce')
  const { status, body } = await sending
  assert.equal(status, 201)
  assert.equal((await statusOf(project, body.id))[0], 'bounced')
  assert.deepEqual(await project.events(), ['email.bounced', 'email.sent'], 'and never delivered')
})

test('an address that is refused while the caller waits is suppressed; a refused message leaves it alone', async () => {
  const { project, list, from } = await newSender()
  const to = newAddress()
  await project.post(`/lists/${list.id}/subscribers`, { email: to, verified: true })
  await project.events()
  const mail = { to, from, subject: 'x', text: 'x' }
  refuse(to, '550 5.7.1 we do not like you')
  const disliked = await project.post('/emails', mail)
  assert.deepEqual([disliked.status, await suppressionsOf(project)], [502, []])
  assert.match(disliked.body.error.message, /same Idempotency-Key/)
  refuse(to, '550 5.1.1 no such user')
  const unknown = await project.post('/emails', mail)
  assert.deepEqual([unknown.status, unknown.body.error.code], [502, 'provider_error'])
  assert.match(unknown.body.error.message, /is suppressed from now on/)
  assert.deepEqual(await suppressionsOf(project), [[to, 'hard_bounce']])
  await assertCounts(app, project, list.id, { bounced: 1 })
  assert.deepEqual([await project.events(), (await project.get('/usage')).body.emails_sent], [[], 0])
  assert.equal((await project.post('/emails', mail)).status, 422)
})

/** Somebody who is asked to confirm. */
async function askToConfirm({ project, list }: Awaited<ReturnType<typeof newSender>>, email: string): Promise<string> {
  const { status, body } = await project.post(`/lists/${list.id}/subscribers`, { email })
  assert.equal(status, 201)
  return body.id
}

test('a confirmation mail that is refused at once ends the subscription and the address, and says so', async () => {
  const sender = await newSender()
  const { project, list } = sender
  const [dead, unlucky] = [newAddress(), newAddress()]
  atRcpt = ({ line }) => (line.includes(dead) ? '550 5.1.1 no such user' : line.includes(unlucky) ? '550 5.7.1 no' : undefined)
  const subscriber_id = await askToConfirm(sender, dead)
  await askToConfirm(sender, unlucky)
  await until('both to be followed', async () => {
    const rows = await database.many`select 1 from messages where project_id = ${project.id} and followed_at is not null`
    return rows.length === 2
  })
  await assertCounts(app, project, list.id, { bounced: 1, pending: 1 })
  assert.deepEqual(await suppressionsOf(project), [[dead, 'hard_bounce']])
  const told = (await project.eventsWithData()).filter(({ type }) => type.startsWith('email.'))
  assert.deepEqual(told.map(({ type, data }) => [type, data.to]).sort(), [
    ['email.bounced', dead],
    ['email.bounced', unlucky],
  ])
  const data = told.find((event) => event.data.to === dead)?.data
  assert.deepEqual([data?.subscriber_id, data?.list_id, data?.post_id, data?.from], [subscriber_id, list.id, null, list.mailbox_address])
})

test('what comes back about a confirmation mail later does the same, once', async () => {
  const sender = await newSender()
  const { project, list } = sender
  const [dead, annoyed] = [newAddress(), newAddress()]
  for (const email of [dead, annoyed]) {
    await askToConfirm(sender, email)
    await until('the mail', () => mailsTo(peer, email).length > 0)
  }
  await until('both to be settled', async () => {
    const rows = await database.many`select 1 from messages where project_id = ${project.id} and status = 'delivered'`
    return rows.length === 2
  })
  await project.events()
  for (let time = 0; time < 2; time++) {
    assert.equal(await bounceAbout(app, tokenTo(dead)), 'bounce')
    assert.equal(await complaintAbout(app, tokenTo(annoyed)), 'complaint')
  }
  await assertCounts(app, project, list.id, { bounced: 1, unsubscribed: 1 })
  assert.deepEqual((await suppressionsOf(project)).sort(), [
    [dead, 'hard_bounce'],
    [annoyed, 'complaint'],
  ])
  assert.deepEqual(await project.events(), ['email.bounced', 'subscriber.unsubscribed'])
})

test('a token of a single mail unsubscribes nobody, and another project’s or a forged one finds nothing', async () => {
  const sender = await newSender()
  const { project, list } = sender
  const to = newAddress()
  await project.post(`/lists/${list.id}/subscribers`, { email: to, verified: true })
  const { token } = await send(sender, to)
  await project.events()
  const letter = Buffer.from(`From: <${to}>\r\nTo: <x@posthaste.test>\r\nSubject: STOP\r\n\r\nSTOP\r\n`)
  for (const local of ['unsubscribe', 'b']) {
    const envelope_to = `${local}+${token}@posthaste.test`
    const content = await readBackchannel(letter)
    assert.equal(await applyBackchannelMail(app.services, { envelope_to, envelope_from: to, content }), null)
  }
  assert.equal((await fetch(`${app.url}/u/${token}`, { method: 'POST' })).status, 404)
  const forged = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`
  assert.equal(await bounceAbout(app, { token: forged, email: to }), null)
  await assertCounts(app, project, list.id, { active: 1 })
  assert.deepEqual([await suppressionsOf(project), await project.events()], [[], []])
})
