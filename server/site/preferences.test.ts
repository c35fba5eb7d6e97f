import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newSentPost, recipientsOf } from '../../tests/support/recipients.ts'
import { assertCounts, queuedMail } from '../../tests/support/subscribers.ts'
import { until } from '../../tests/support/until.ts'
import { capturedFor, newVisitor, type Visit } from '../../tests/support/visitor.ts'
import { linkFor, newPerson } from '../../tests/support/waitlists.ts'
import { parseId } from '../base/ids.ts'
import { createSecrets } from '../base/secrets.ts'
import { preferencesUrl } from '../features/preferences/index.ts'
import { findSubscriber } from '../features/subscribers/index.ts'
import type { SubscriberRow } from '../features/subscribers/subscriber.ts'

const app = await startApp()
const dayMs = 24 * 3_600_000

/** Somebody on the first two of three lists of one sender, and the link that is in their mail. */
async function newReader(email = newPerson()) {
  const project = await app.newProject()
  type List = { id: string; name: string }
  const lists: List[] = []
  for (const name of ['News', 'Notes', 'Others']) lists.push((await project.post('/lists', { name })).body)
  const subscribers: { id: string }[] = []
  for (const list of lists.slice(0, 2))
    subscribers.push((await project.post(`/lists/${list.id}/subscribers`, { email, verified: true })).body)
  await project.events()
  const [news, notes, others] = lists as [List, List, List]
  const path = new URL(preferencesUrl(app.services, await rowOf(project.id, news.id, subscribers[0]?.id as string))).pathname
  const statuses = async (): Promise<Record<string, string>> => {
    const shown: Record<string, string> = {}
    for (const list of lists)
      for (const one of (await project.get(`/lists/${list.id}/subscribers`)).body) shown[`${list.name} ${one.email}`] = one.status
    return shown
  }
  return { project, email, news, notes, others, subscribers, path, statuses, visitor: newVisitor(app.url) }
}

const rowOf = async (project_id: string, listId: string, subId: string): Promise<SubscriberRow> =>
  (await findSubscriber(app.services.database, {
    project_id,
    list_id: parseId('lst', listId),
    subscriber_id: parseId('sub', subId),
  } as Parameters<typeof findSubscriber>[1])) as SubscriberRow

const boxesIn = ({ html }: Visit) =>
  [...html.matchAll(/name="list" value="(lst_\w+)"( checked)?/g)].map(([, id, checked]) => [id, checked !== undefined])

test('lists are switched on and off; the page and the events say so; nothing else changes', async () => {
  const { project, news, notes, path, visitor, email, statuses } = await newReader()
  const shown = await visitor.get(path)
  assert.deepEqual(
    boxesIn(shown).toSorted(),
    [
      [news.id, true],
      [notes.id, true],
    ].toSorted(),
  )
  assert.match(shown.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  for (let look = 0; look < 2; look++) await visitor.get(path)
  assert.deepEqual(await project.events(), [])

  const both: [string, string][] = [
    ['shown', news.id],
    ['shown', notes.id],
  ]
  const saved = await visitor.post(`${path}/lists`, [...both, ['list', notes.id]])
  assert.deepEqual([saved.status, /role="status">Saved/.test(saved.html)], [200, true])
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])
  assert.deepEqual(await statuses(), { [`News ${email}`]: 'unsubscribed', [`Notes ${email}`]: 'active' })
  await visitor.post(`${path}/lists`, [...both, ['list', notes.id]])
  assert.deepEqual(await project.events(), [], 'twice is once')
  await visitor.post(`${path}/lists`, [...both, ['list', notes.id], ['list', news.id]])
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  await visitor.post(`${path}/lists`, [['list', notes.id]])
  assert.deepEqual(await project.events(), [], 'what the form did not show stays')
  await visitor.post(`${path}/lists`, both)
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed', 'subscriber.unsubscribed'])
  await assertCounts(app, project, news.id, { unsubscribed: 1 })
  assert.deepEqual(
    boxesIn(await visitor.get(path)).map(([, checked]) => checked),
    [false, false],
  )
})

test('a list they are not on cannot be switched on, nor one of somebody else', async () => {
  const { project, others, news, path, visitor, statuses, email } = await newReader()
  const stranger = await newReader()
  const fields = [others, stranger.news].flatMap(({ id }): [string, string][] => [
    ['shown', id],
    ['list', id],
  ])
  assert.equal((await visitor.post(`${path}/lists`, [...fields, ['shown', 'lst_x'], ['list', "' or 1=1"]])).status, 200)
  assert.deepEqual([await project.events(), await stranger.project.events()], [[], []])
  assert.deepEqual(await statuses(), { [`News ${email}`]: 'active', [`Notes ${email}`]: 'active' })
  const suppressed = await newReader()
  await suppressed.visitor.post(`${suppressed.path}/lists`, [['shown', suppressed.news.id]])
  await suppressed.project.post('/suppressions', { email: suppressed.email })
  await suppressed.project.events()
  const { html } = await suppressed.visitor.get(suppressed.path)
  assert.match(html, /No mail goes to this address/)
  await suppressed.visitor.post(`${suppressed.path}/lists`, [
    ['shown', suppressed.news.id],
    ['list', suppressed.news.id],
  ])
  assert.deepEqual(await suppressed.project.events(), [])
  assert.ok(news.id)
})

test('a waitlist is left here, and joined again on its own page', async () => {
  const { project, path, visitor, email } = await newReader()
  const { body: line } = await project.post('/lists', { name: 'Launch', type: 'waitlist' })
  await project.post(`/lists/${line.id}/subscribers`, { email, verified: true })
  await project.events()
  const shown: [string, string] = ['shown', line.id]
  await visitor.post(`${path}/lists`, [shown])
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])
  await visitor.post(`${path}/lists`, [shown, ['list', line.id]])
  assert.deepEqual(await project.events(), [])
  assert.match((await visitor.get(path)).html, new RegExp(`value="${line.id}" disabled`))
})

test('forged, cut and foreign links open nothing', async () => {
  const { project, path, visitor } = await newReader()
  const token = path.split('/').at(-1) as string
  const elsewhere = createSecrets('another key for tests, just as long as it')
  const payload = app.services.secrets.verify('preferences', token) as Buffer
  const wrong = [
    elsewhere.sign('preferences', payload),
    app.services.secrets.sign('confirm', payload),
    app.services.secrets.sign('preferences', payload.subarray(0, 40)),
    app.services.secrets.sign('preferences', Buffer.concat([payload, payload])),
    `${token}A`,
    token.slice(1),
    'x',
  ]
  for (const one of wrong) {
    assert.equal((await visitor.get(`/preferences/${one}`)).status, 404)
    for (const [form, fields] of Object.entries({ lists: {}, pause: { days: '7' }, address: { email: 'a@example.org' }, data: {} }))
      assert.equal((await visitor.post(`/preferences/${one}/${form}`, fields)).status, 404, form)
    for (const kind of ['data', 'address']) assert.equal((await visitor.get(`/preferences/${kind}/${one}`)).status, 404, kind)
  }
  assert.equal((await visitor.post(`${path}/lists`, {}, { origin: 'https://evil.example' })).status, 403)
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await queuedMail(app, project), [])
})

test('a pause: posts go to the others, the count says so, and it ends by itself or by a press', async () => {
  const { project, news, path, visitor, subscribers } = await newReader()
  await project.post(`/lists/${news.id}/subscribers`, { email: 'other@example.org', verified: true })
  await project.events()
  const before = app.clock.now().getTime()
  assert.match((await visitor.post(`${path}/pause`, { days: '30' })).html, /get nothing before/)
  const after = app.clock.now().getTime()
  for (const days of ['31', '-1', 'x', '1e3', '', ' ']) await visitor.post(`${path}/pause`, { days })
  const until30 = new Date((await project.get(`/lists/${news.id}/subscribers/${subscribers[0]?.id}`)).body.paused_until).getTime()
  assert.ok(until30 >= before + 30 * dayMs && until30 <= after + 30 * dayMs)
  assert.deepEqual(await project.events(), [])

  const send = async () => {
    const { body: post } = await project.post(`/lists/${news.id}/posts`, { subject: 'Hello', body_text: 'Hi' })
    const at = `/lists/${news.id}/posts/${post.id}`
    const { body } = await project.post(`${at}/send`)
    await until('the post to be sent', async () => (await project.get(at)).body.status === 'sent', { withinMs: 15_000 })
    return { counted: body.recipients, reached: (await recipientsOf(app, project, post.id)).length }
  }
  assert.deepEqual(await send(), { counted: 1, reached: 1 })
  await visitor.post(`${path}/pause`, { days: '0' })
  assert.deepEqual(await send(), { counted: 2, reached: 2 })
  await visitor.post(`${path}/pause`, { days: '7' })
  app.clock.advance(8 * dayMs)
  assert.match((await visitor.get(path)).html, /Take a break/)
  assert.deepEqual(await send(), { counted: 2, reached: 2 })
})

test('when everybody pauses there is nobody to send to, and that is said', async () => {
  const { project, notes, path, visitor } = await newReader()
  await visitor.post(`${path}/pause`, { days: '7' })
  const { body: post } = await project.post(`/lists/${notes.id}/posts`, { subject: 'Hello', body_text: 'Hi' })
  await project.events()
  const { status, body } = await project.post(`/lists/${notes.id}/posts/${post.id}/send`)
  assert.deepEqual([status, /paused/.test(body.error.message)], [422, true])
  assert.deepEqual(await project.events(), [])
})

test('another address: the new mailbox says yes, the old one hears of it, and all that is known stays', async () => {
  const { project, news, email, path, visitor, statuses, subscribers } = await newReader()
  const to = newPerson('new')
  const asked = await visitor.post(`${path}/address`, { email: to })
  assert.deepEqual([asked.status, /Look into the other mailbox/.test(asked.html)], [200, true])
  assert.deepEqual(await project.events(), [])
  const link = (await linkFor(app, to, '/preferences/address/')).replace(app.url, '')
  for (let look = 0; look < 2; look++) assert.match((await visitor.get(link)).html, new RegExp(`comes to <strong>${to}</strong>`))
  assert.deepEqual(await statuses(), { [`News ${email}`]: 'active', [`Notes ${email}`]: 'active' })

  const done = await visitor.post(link)
  assert.deepEqual([done.status, /That is done/.test(done.html)], [200, true])
  assert.deepEqual(await project.events(), ['contact.updated'])
  assert.deepEqual(await statuses(), { [`News ${to}`]: 'active', [`Notes ${to}`]: 'active' })
  assert.equal((await project.get(`/lists/${news.id}/subscribers/${subscribers[0]?.id}`)).body.email, to)
  assert.match((await visitor.post(link)).html, /That is done/)
  assert.deepEqual(await project.events(), [])
  const told = await until('the old mailbox to hear of it', async () => (await capturedFor(app, email)).at(-1))
  assert.match(told.subject ?? '', /goes to another address/)
  assert.ok(!told.text?.includes(to))
  assert.match((await visitor.get(path)).html, new RegExp(`For <strong>${to}</strong>`), 'the link in old mail still opens')
})

test('another address that the sender knows already gets the lists, and stays who it is', async () => {
  const { project, news, email, path, visitor, statuses } = await newReader()
  const to = newPerson('known')
  const { body: left } = await project.post(`/lists/${news.id}/subscribers`, { email: to, verified: true })
  await project.patch(`/lists/${news.id}/subscribers/${left.id}`, { status: 'unsubscribed' })
  await visitor.post(`${path}/address`, { email: to })
  await project.events()
  assert.equal((await visitor.post((await linkFor(app, to, '/preferences/address/')).replace(app.url, ''))).status, 200)
  assert.deepEqual((await project.events()).toSorted(), [
    'subscriber.confirmed',
    'subscriber.created',
    'subscriber.unsubscribed',
    'subscriber.unsubscribed',
  ])
  assert.deepEqual(await statuses(), {
    [`News ${email}`]: 'unsubscribed',
    [`News ${to}`]: 'active',
    [`Notes ${email}`]: 'unsubscribed',
    [`Notes ${to}`]: 'active',
  })
  await assertCounts(app, project, news.id, { active: 1, unsubscribed: 1 })
})

test('another address: wrong, thrown away, suppressed and too many; links end', async () => {
  const { project, path, visitor } = await newReader()
  for (const wrong of ['', 'x', 'a@b.example\r\nBcc: c@d.example', 'x@mailinator.com'])
    assert.equal((await visitor.post(`${path}/address`, { email: wrong })).status, 422, wrong)
  const unwanted = newPerson()
  await project.post('/suppressions', { email: unwanted })
  assert.equal((await visitor.post(`${path}/address`, { email: unwanted })).status, 200)
  assert.deepEqual(await queuedMail(app, project), [])
  const victim = newPerson()
  const ask = async (email: string) => (await visitor.post(`${path}/address`, { email })).status
  for (let round = 0; round < 4; round++) assert.equal(await ask(victim), 200)
  assert.equal((await queuedMail(app, project)).length, 3)
  assert.deepEqual([await ask(newPerson()), await ask(newPerson())], [200, 422], 'so many an hour, to whomever')
  assert.equal((await queuedMail(app, project)).length, 4)
  await project.events()
  const old = (await linkFor(app, victim, '/preferences/address/')).replace(app.url, '')
  app.clock.advance(dayMs + 1_000)
  assert.equal((await visitor.get(old)).status, 410)
  assert.equal((await visitor.post(old)).status, 410)
  assert.deepEqual(await project.events(), [])
})

test('data: a link by mail shows, downloads and deletes; the link in every mail does not', async () => {
  const { project, email, path, visitor, statuses } = await newReader()
  assert.match((await visitor.post(`${path}/data`)).html, /Look into your mailbox/)
  const link = (await linkFor(app, email, '/preferences/data/')).replace(app.url, '')
  assert.match((await visitor.get(link)).html, /Download it/)
  const { html, headers } = await visitor.post(`${link}/download`)
  assert.match(headers.get('content-disposition') ?? '', /attachment/)
  const known = JSON.parse(html)
  assert.deepEqual([known.contact.email, known.lists.length], [email, 2])
  assert.ok(!JSON.stringify(known.messages).includes('/preferences/data/'), 'a link that opens everything is not kept')

  assert.equal((await visitor.post(`${link}/delete`)).status, 422)
  assert.deepEqual(await project.events(), [])
  const erased = await visitor.post(`${link}/delete`, { sure: 'yes' })
  assert.deepEqual([erased.status, /Your data is deleted/.test(erased.html)], [200, true])
  assert.deepEqual(await project.events(), ['subscriber.deleted', 'subscriber.deleted', 'contact.deleted'])
  assert.deepEqual(await statuses(), {})
  assert.equal((await visitor.post(`${link}/delete`, { sure: 'yes' })).status, 410)
  assert.equal((await visitor.post(`${link}/download`)).status, 410)
  for (const gone of [link, path]) assert.equal((await visitor.get(gone)).status, 404)
})

test('data: so often a day, and a link that is a day old has ended', async () => {
  const { project, email, path, visitor } = await newReader()
  const answers = []
  for (let round = 0; round < 4; round++) answers.push((await visitor.post(`${path}/data`)).status)
  assert.deepEqual(answers, [200, 200, 200, 422])
  assert.equal((await queuedMail(app, project)).length, 3)
  const link = (await linkFor(app, email, '/preferences/data/')).replace(app.url, '')
  app.clock.advance(dayMs + 1_000)
  assert.deepEqual([(await visitor.get(link)).status, (await visitor.post(`${link}/delete`, { sure: 'yes' })).status], [410, 410])
  assert.deepEqual(await project.events(), [])
})

test('after leaving: why, and back by one press, for a day', async () => {
  const { project, list, first } = await newSentPost(app)
  const path = `/u/${first.tokens.unsubscribe}`
  const visitor = newVisitor(app.url)
  await visitor.post(`${path}/reason`, { words: 'too early' })
  await visitor.post(path)
  const said = await visitor.post(`${path}/reason`, { reason: 'It comes too often', words: ' every\r\nday ' })
  assert.match(said.html, /we have told them/)
  const { body: subscribers } = await project.get(`/lists/${list.id}/subscribers`)
  const detail = async () => (await project.get(`/lists/${list.id}/subscribers/${subscribers[0].id}`)).body
  assert.deepEqual([(await detail()).status, (await detail()).unsubscribe_reason], ['unsubscribed', 'It comes too often: every day'])
  await visitor.post(`${path}/reason`, { reason: 'made up <script>', words: 'x'.repeat(900) })
  assert.equal((await detail()).unsubscribe_reason, 'x'.repeat(500))
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])

  assert.match((await visitor.post(`${path}/undo`)).html, /Welcome back/)
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  assert.deepEqual([(await detail()).status, (await detail()).unsubscribe_reason], ['active', undefined])
  await visitor.post(`${path}/undo`)
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { active: 1 })

  await visitor.post(path)
  app.clock.advance(dayMs + 1_000)
  assert.ok(!/Subscribe me again/.test((await visitor.get(path)).html))
  assert.match((await visitor.post(`${path}/undo`)).html, /subscribe once more/)
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])
  for (const form of ['undo', 'reason']) assert.equal((await visitor.post(`/u/nonsense/${form}`, { words: 'x' })).status, 404)
})

test('who complained does not come back by a press', async () => {
  const { project, first, list } = await newSentPost(app)
  const path = `/u/${first.tokens.unsubscribe}`
  const visitor = newVisitor(app.url)
  await visitor.post(path)
  await project.post('/suppressions', { email: first.email })
  await project.events()
  await visitor.post(`${path}/undo`)
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { unsubscribed: 1 })
})
