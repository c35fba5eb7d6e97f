import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { formatId } from '../server/base/ids.ts'
import { catalogue, type EventType, eventTypes } from '../server/events/catalogue.ts'
import { type EventStream, followEvents, type StreamedEvent } from './support/event-stream.ts'
import { fileMail, receive, verdictsOf } from './support/inbound.ts'
import { startApp } from './support/posthaste.ts'
import type { TestProject } from './support/project.ts'
import { linkIn, mailTo } from './support/received-mail.ts'
import { recipientsOf } from './support/recipients.ts'
import { complaintReport } from './support/reports.ts'
import { greetedSmtp } from './support/smtp-client.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/**
 * Every event of the catalogue, fired from outside (the API, SMTP, the pages that mails lead to) and heard outside, on the stream. What
 * is heard fits the catalogue and openapi.json, and says how the thing is after what happened. A new event has no line: it fails to compile.
 */
const refusals: Record<string, string> = { 'gone@': '550 5.1.1 no such user', 'slow@': '450 4.2.0 come back later' }
const peer = await startSmtpPeer({ atRcpt: ({ line }) => Object.entries(refusals).find(([name]) => line.includes(name))?.[1] })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const project = await app.newProject()
const stream = await followEvents({ url: app.url, key: project.key })
test.after(() => stream.leave())
const { body: document } = await project.get('/v1/openapi.json')

// biome-ignore lint/suspicious/noExplicitAny: what each line expects of its event, it says itself
type Data = any
interface Line {
  fire(): Promise<unknown>
  /** What the event says of it. */
  says?(data: Data): void
}

let number = 0
const made = async (path: string, body: object): Promise<Data> => {
  const answer = await project.post(path, body)
  assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`)
  return answer.body
}
const newList = () => made('/lists', { name: `List ${++number}` })
const newAddress = (name = 'reader') => `${name}@${++number}.example.org`
const newSubscriber = async (email = newAddress()) => {
  const list = await newList()
  return { list, email, subscriber: await made(`/lists/${list.id}/subscribers`, { email, verified: true }) }
}
const newGroup = () => made('/contact-groups', { name: `Group ${++number}` })
const newMailbox = () => made('/mailboxes', { name: `Mailbox ${++number}` })
const newPost = (list: { id: string }) =>
  made(`/lists/${list.id}/posts`, { subject: 'Hello', body_html: '<p><a href="https://example.org/a">A</a></p>' })

/** A post on its way to somebody; `until` it is through, unless somebody is slow. */
async function sent(email = newAddress()) {
  const { list, subscriber } = await newSubscriber(email)
  await project.patch(`/lists/${list.id}`, { track_opens: true, track_clicks: true })
  const post = await newPost(list)
  const path = `/lists/${list.id}/posts/${post.id}`
  await made(`${path}/send`, {})
  if (email.startsWith('slow@')) await until('the first try', () => peer.commands.some((line) => line.includes(email)))
  else await until('the post to be sent', async () => (await project.get(path)).body.status === 'sent', { withinMs: 15_000 })
  // What comes sooner is a machine's doing.
  app.clock.advance(3_000)
  const [recipient] = await recipientsOf(app, project, post.id)
  return { list, post, path, subscriber, email, tokens: recipient?.tokens as NonNullable<typeof recipient>['tokens'] }
}
const press = (path: string, init: RequestInit = {}) =>
  fetch(`${app.url}${path}`, { redirect: 'manual', headers: { 'user-agent': browser }, ...init }).then((answer) => answer.arrayBuffer())
const browser = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

async function contactOf(email: string): Promise<Data> {
  return (await project.get(`/contacts?search=${encodeURIComponent(email)}`)).body[0]
}
async function sentEmail(to = newAddress()) {
  const mailbox = await newMailbox()
  const email = await made('/emails', {
    from: mailbox.address,
    to,
    subject: 'Receipt',
    text: 'Hi',
    tag: 'receipt',
    metadata: { order: '17' },
  })
  return { mailbox, email, to }
}

async function invite(method: 'REQUEST' | 'CANCEL', sequence: number, mailbox: { address: string }, uid: string) {
  const event = [
    `UID:${uid}`,
    `SEQUENCE:${sequence}`,
    'DTSTART:20300101T100000Z',
    `SUMMARY:Tea ${sequence}`,
    'ORGANIZER:mailto:ann@example.com',
  ]
  const text = ['BEGIN:VCALENDAR', `METHOD:${method}`, 'BEGIN:VEVENT', ...event, 'END:VEVENT', 'END:VCALENDAR'].join('\r\n')
  // Who is to change an invitation has to prove who they are, which takes DNS: here the proof is given.
  const headers = [`Content-Type: text/calendar; method=${method}; charset=utf-8`]
  await fileMail(app, { recipients: [mailbox.address], headers, text, verdicts: verdictsOf('example.com') })
}
async function invited() {
  const mailbox = await newMailbox()
  const uid = `tea-${++number}@example.com`
  await invite('REQUEST', 0, mailbox, uid)
  await until('the invitation', async () => (await project.get(`/calendar-events?mailbox_id=${mailbox.id}`)).body.length === 1)
  return { mailbox, uid }
}

const lines: Record<EventType, Line> = {
  'post.created': {
    fire: async () => newPost(await newList()),
    says: ({ post }) => assert.deepEqual([post.status, post.source], ['draft', 'api']),
  },
  'post.updated': {
    async fire() {
      const list = await newList()
      await project.patch(`/lists/${list.id}/posts/${(await newPost(list)).id}`, { subject: 'Other' })
    },
    says: ({ subject, post }) => assert.deepEqual([subject, post.subject], ['Other', 'Other']),
  },
  'post.sent': {
    fire: () => sent(),
    says: ({ post }) => assert.deepEqual([post.status, post.sending, post.recipients], ['draft', true, 1]),
  },
  'post.delivered': {
    fire: () => sent(),
    says: ({ post }) => assert.deepEqual([post.status, post.sending, post.recipients], ['sent', false, 1]),
  },
  'post.paused': {
    fire: async () => project.post(`${(await sent(newAddress('slow'))).path}/pause`),
    says: ({ post }) => assert.deepEqual([post.status, post.sending], ['draft', true]),
  },
  'post.resumed': {
    async fire() {
      const { path } = await sent(newAddress('slow'))
      await project.post(`${path}/pause`)
      await project.post(`${path}/resume`)
    },
    says: ({ post }) => assert.equal(post.sending, true),
  },
  'post.cancelled': {
    fire: async () => project.post(`${(await sent(newAddress('slow'))).path}/abort`),
    says: ({ post }) => assert.equal(post.sending, false),
  },
  'post.viewed': {
    async fire() {
      const list = await newList()
      const post = await newPost(list)
      const { body } = await project.post(`/lists/${list.id}/posts/${post.id}/publish`)
      await press(`/s/${list.subdomain}/p/${body.slug}`)
    },
    says: ({ post, subject }) => assert.deepEqual([post.status, subject], ['published', 'Hello']),
  },
  'post.liked': {
    async fire() {
      const list = await newList()
      const post = await newPost(list)
      const { body } = await project.post(`/lists/${list.id}/posts/${post.id}/publish`)
      await press(`/s/${list.subdomain}/p/${body.slug}/like`, { method: 'POST' })
    },
    says: ({ post, subject }) => assert.deepEqual([post.status, subject], ['published', 'Hello']),
  },
  'email.received': {
    fire: async () =>
      receive(app, (await newMailbox()).address, { subject: 'Your code', text: `Your sign-in code is 739154.\r\n${'é'.repeat(40_000)}` }),
    says: ({ email, subject }) => {
      assert.deepEqual([subject, email.status, email.truncated, email.html_body], ['Your code', 'received', true, null])
      assert.equal(Buffer.byteLength(email.text_body), 32 * 1024 - 1, 'no half of a letter')
      assert.doesNotMatch(email.text_body, /\uFFFD/)
      assert.equal(email.extracted_data.code, '739154')
      assert.equal(email.verdicts.dmarc.result, 'none')
    },
  },
  'email.sent': {
    fire: () => sentEmail(),
    says: ({ email, tag }) =>
      assert.deepEqual([email.status, email.tag, tag, email.metadata], ['sent', 'receipt', 'receipt', { order: '17' }]),
  },
  'email.delivered': { fire: () => sentEmail(), says: ({ email }) => assert.equal(email.status, 'delivered') },
  'email.bounced': {
    fire: () => sent(newAddress('gone')),
    says: ({ email, bounce }) =>
      assert.deepEqual(
        [email, bounce],
        [null, { kind: 'hard', smtp_code: 550, enhanced_code: '5.1.1', reason: 'The mailbox does not exist' }],
      ),
  },
  'email.opened': {
    fire: async () => press(`/o/${(await sent()).tokens.open}.gif`),
    says: ({ email, is_machine }) => assert.deepEqual([email, is_machine], [null, false]),
  },
  'email.clicked': {
    fire: async () => press(`/c/${(await sent()).tokens.click}/0`),
    says: ({ url }) => assert.equal(url, 'https://example.org/a'),
  },
  'email.complained': {
    async fire() {
      const { to } = await sentEmail()
      const { message } = await mailTo(peer, to)
      const client = await greetedSmtp({ port: app.smtpPort })
      await client.send(message.from, complaintReport(message.from).toString())
      client.close()
    },
    says: ({ email }) => assert.deepEqual([email.status, email.reason], ['complained', 'The recipient reported it as spam']),
  },
  'email.replied': {
    async fire() {
      const { mailbox, email, to } = await sentEmail()
      await receive(app, mailbox.address, {
        from: `Ann <${to}>`,
        subject: 'Re: Receipt',
        headers: [`In-Reply-To: <${email.provider_message_id}>`],
      })
    },
    says: ({ email, tag }) => assert.deepEqual([email.direction, email.subject, tag], ['inbound', 'Re: Receipt', 'receipt']),
  },
  'subscriber.created': { fire: () => newSubscriber(), says: ({ subscriber }) => assert.equal(subscriber.status, 'active') },
  'subscriber.confirmed': {
    async fire() {
      const [list, email] = [await newList(), newAddress()]
      await made(`/lists/${list.id}/subscribers`, { email })
      await press(new URL(linkIn(await mailTo(peer, email))).pathname, { method: 'POST' })
    },
    says: ({ subscriber }) => assert.equal(subscriber.status, 'active'),
  },
  'subscriber.unsubscribed': {
    // RFC 8058, as mail programs do it.
    fire: async () =>
      press(`/u/${(await sent()).tokens.unsubscribe}`, { method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) }),
    says: ({ subscriber }) => assert.equal(subscriber.status, 'unsubscribed'),
  },
  'subscriber.deleted': {
    async fire() {
      const { list, subscriber } = await newSubscriber()
      await project.delete(`/lists/${list.id}/subscribers/${subscriber.id}`)
    },
  },
  'contact.created': { fire: () => newSubscriber(), says: ({ contact }) => assert.match(contact.email, /^reader@/) },
  'contact.updated': {
    async fire() {
      const { id } = await contactOf((await newSubscriber()).email)
      await project.patch(`/contacts/${id}`, { notes: 'Likes tea' })
    },
    says: ({ contact }) => assert.equal(contact.notes, 'Likes tea'),
  },
  'contact.deleted': {
    fire: async () => project.delete(`/contacts/${(await contactOf((await newSubscriber()).email)).id}`),
    says: ({ contact }) => assert.equal(contact.email, null),
  },
  'contact_group.created': { fire: newGroup, says: ({ contact_group }) => assert.equal(contact_group.contact_count, 0) },
  'contact_group.updated': {
    async fire() {
      const { id } = await contactOf((await newSubscriber()).email)
      await made(`/contact-groups/${(await newGroup()).id}/contacts`, { contact_ids: [id] })
    },
    says: ({ contact_group }) => assert.equal(contact_group.contact_count, 1),
  },
  'contact_group.deleted': { fire: async () => project.delete(`/contact-groups/${(await newGroup()).id}`) },
  'list.created': { fire: newList },
  'list.updated': {
    fire: async () => project.patch(`/lists/${(await newList()).id}`, { description: 'Other' }),
    says: ({ list }) => assert.equal(list.description, 'Other'),
  },
  'list.deleted': { fire: async () => project.delete(`/lists/${(await newList()).id}`) },
  'mailbox.created': { fire: newMailbox },
  'mailbox.updated': {
    fire: async () => project.patch(`/mailboxes/${(await newMailbox()).id}`, { name: 'Other' }),
    says: ({ mailbox }) => assert.equal(mailbox.name, 'Other'),
  },
  'mailbox.deleted': { fire: async () => project.delete(`/mailboxes/${(await newMailbox()).id}`) },
  'calendar_event.created': { fire: invited, says: ({ calendar_event }) => assert.equal(calendar_event.title, 'Tea 0') },
  'calendar_event.updated': {
    async fire() {
      const { mailbox, uid } = await invited()
      await invite('REQUEST', 1, mailbox, uid)
    },
    says: ({ title, calendar_event }) => assert.deepEqual([title, calendar_event.sequence], ['Tea 1', 1]),
  },
  'calendar_event.deleted': {
    async fire() {
      const { mailbox, uid } = await invited()
      await invite('CANCEL', 1, mailbox, uid)
    },
    says: ({ calendar_event }) => assert.equal(calendar_event.status, 'cancelled'),
  },
  // The keys end with the project, and a stream with its key: who is deleted is heard of on the way out, by webhooks.
  'project.deleted': { fire: () => Promise.resolve() },
}

test('each event of the catalogue has a line', () => assert.deepEqual(Object.keys(lines).sort(), [...eventTypes].sort()))

for (const [type, line] of Object.entries(lines) as [EventType, Line][]) {
  if (type === 'project.deleted') test(type, projectDeleted)
  else
    test(type, async () => {
      const before = stream.events.length
      await line.fire()
      const told = await until(`${type} to be told`, () => newest(stream, type, before), { withinMs: 15_000 })
      assertFits(type, told.data)
      line.says?.(told.data.data)
    })
}

const newest = ({ events }: EventStream, type: EventType, after: number): StreamedEvent | undefined =>
  events.slice(after).findLast(({ event }) => event === type)

async function projectDeleted(): Promise<void> {
  const doomed: TestProject = await app.newProject()
  assert.equal((await doomed.delete(`/api/projects/${formatId('prj', doomed.id)}`)).status, 204)
  const [event] = await doomed.eventsWithData()
  const { id, created_at } = stream.events[0]?.data ?? {}
  assertFits('project.deleted', { id, created_at, type: event?.type, data: event?.data })
}

/** What goes on the wire is what the catalogue says, no more and no less, and what openapi.json promises. */
function assertFits(type: EventType, envelope: Data): void {
  const { data } = catalogue[type]
  assert.deepEqual(Object.keys(envelope.data).sort(), Object.keys(data.shape).sort(), type)
  assert.deepEqual(data.safeParse(envelope.data).error?.issues, undefined, type)
  const { schema } = document.webhooks[type].post.requestBody.content['application/json']
  const promised = z.fromJSONSchema({ ...JSON.parse(withDefinitions(schema)), $defs: definitions })
  assert.deepEqual(promised.safeParse(envelope).error?.issues, undefined, `${type} in openapi.json`)
  const limit = type === 'email.received' ? 80_000 : 20_000
  assert.ok(Buffer.byteLength(JSON.stringify(envelope)) < limit, `${type} is too large`)
}

function withDefinitions(schema: object): string {
  // Patterns of JSON Schema know Unicode; the reader of schemas that is used here takes them without.
  const plain = JSON.stringify(schema, (key, value) => (key === 'pattern' && /\\p\{/i.test(String(value)) ? undefined : value))
  return plain.replaceAll('#/components/schemas/', '#/$defs/')
}
const definitions = JSON.parse(withDefinitions(document.components.schemas))

test('the example of each event in openapi.json fits it', () => {
  for (const type of eventTypes) assertFits(type, document.webhooks[type].post.requestBody.content['application/json'].example)
})
