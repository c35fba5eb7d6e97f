import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newReader } from '../../tests/support/readers.ts'
import { newSentPost, recipientsOf } from '../../tests/support/recipients.ts'
import { assertCounts, queuedMail } from '../../tests/support/subscribers.ts'
import { until } from '../../tests/support/until.ts'
import { newVisitor, type Visit } from '../../tests/support/visitor.ts'
import { linkFor } from '../../tests/support/waitlists.ts'
import { createSecrets } from '../base/secrets.ts'

const app = await startApp()
const dayMs = 24 * 3_600_000

const boxesIn = ({ html }: Visit) =>
  [...html.matchAll(/name="list" value="(lst_\w+)"( checked)?/g)].map(([, id, checked]) => [id, checked !== undefined])

test('lists are switched on and off; the page and the events say so; nothing else changes', async () => {
  const { project, news, notes, path, visitor, email, statuses } = await newReader(app)
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
  const { project, others, news, path, visitor, statuses, email } = await newReader(app)
  const stranger = await newReader(app)
  const fields = [others, stranger.news].flatMap(({ id }): [string, string][] => [
    ['shown', id],
    ['list', id],
  ])
  assert.equal((await visitor.post(`${path}/lists`, [...fields, ['shown', 'lst_x'], ['list', "' or 1=1"]])).status, 200)
  assert.deepEqual([await project.events(), await stranger.project.events()], [[], []])
  assert.deepEqual(await statuses(), { [`News ${email}`]: 'active', [`Notes ${email}`]: 'active' })
  const suppressed = await newReader(app)
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

test('a list that was left long ago, or never confirmed, asks the mailbox first: a mail that was passed on puts nobody back', async () => {
  const { project, news, notes, others, path, visitor, email, statuses } = await newReader(app)
  await visitor.post(`${path}/lists`, [['shown', news.id]])
  await project.post(`/lists/${others.id}/subscribers`, { email })
  app.clock.advance(dayMs + 1_000)
  await project.events()
  const before = (await queuedMail(app, project)).length
  const ticked = [news, others].flatMap(({ id }): [string, string][] => [
    ['shown', id],
    ['list', id],
  ])
  const saved = await visitor.post(`${path}/lists`, [...ticked, ['shown', notes.id]])
  assert.deepEqual([saved.status, /Saved\. Look into your mailbox/.test(saved.html)], [200, true])
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'], 'leaving one is done at once')
  const asked = { [`News ${email}`]: 'pending', [`Notes ${email}`]: 'unsubscribed', [`Others ${email}`]: 'pending' }
  assert.deepEqual(await statuses(), asked)
  assert.equal((await queuedMail(app, project)).length, before + 2)
  await assertCounts(app, project, news.id, { pending: 1 })
  for (let round = 0; round < 6; round++) await visitor.post(`${path}/lists`, ticked)
  assert.equal((await queuedMail(app, project)).length, before + 5, 'so many a day')
  assert.deepEqual([await statuses(), await project.events()], [asked, []])
})

test('asking and leaving once more is no way around it', async () => {
  const { project, list, first } = await newSentPost(app)
  const leave = `/u/${first.tokens.unsubscribe}`
  const visitor = newVisitor(app.url)
  await visitor.post(leave)
  app.clock.advance(dayMs + 1_000)
  // Anybody can have somebody asked again, by the form.
  await newVisitor(app.url).post(`/s/${list.subdomain}/subscribe`, { email: first.email, from: 'embed' })
  await assertCounts(app, project, list.id, { pending: 1 })
  await visitor.post(leave)
  await project.events()
  await visitor.post(`${leave}/undo`)
  const page = (await visitor.get(`/preferences/${first.tokens.unsubscribe}`)).location as string
  await visitor.post(`${page}/lists`, [
    ['shown', list.id],
    ['list', list.id],
  ])
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { pending: 1 })
})

test('a waitlist is left here, and joined again on its own page', async () => {
  const { project, path, visitor, email } = await newReader(app)
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
  const { project, path, visitor } = await newReader(app)
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
    for (const kind of ['data', 'agree', 'address']) assert.equal((await visitor.get(`/preferences/${kind}/${one}`)).status, 404, kind)
  }
  assert.equal((await visitor.post(`${path}/lists`, {}, { origin: 'https://evil.example' })).status, 403)
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await queuedMail(app, project), [])
})

test('a pause: posts go to the others, the count says so, and it ends by itself or by a press', async () => {
  const { project, news, path, visitor, subscribers } = await newReader(app)
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
  const { project, notes, path, visitor } = await newReader(app)
  await visitor.post(`${path}/pause`, { days: '7' })
  const { body: post } = await project.post(`/lists/${notes.id}/posts`, { subject: 'Hello', body_text: 'Hi' })
  await project.events()
  const { status, body } = await project.post(`/lists/${notes.id}/posts/${post.id}/send`)
  assert.deepEqual([status, /paused/.test(body.error.message)], [422, true])
  assert.deepEqual(await project.events(), [])
})

test('data: a link by mail shows, downloads and deletes; the link in every mail does not', async () => {
  const { project, email, path, visitor, statuses } = await newReader(app)
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
  const { project, email, path, visitor } = await newReader(app)
  const answers = []
  for (let round = 0; round < 4; round++) answers.push((await visitor.post(`${path}/data`)).status)
  assert.deepEqual(answers, [200, 200, 200, 422])
  assert.equal((await queuedMail(app, project)).length, 3)
  const link = (await linkFor(app, email, '/preferences/data/')).replace(app.url, '')
  app.clock.advance(dayMs + 1_000)
  assert.deepEqual([(await visitor.get(link)).status, (await visitor.post(`${link}/delete`, { sure: 'yes' })).status], [410, 410])
  assert.deepEqual(await project.events(), [])
})

test('data: who complained, or is suppressed otherwise, gets this one mail all the same', async () => {
  const { project, email, path, visitor } = await newReader(app)
  await project.post('/suppressions', { email })
  await project.events()
  assert.match((await visitor.post(`${path}/data`)).html, /this one mail all the same\. If it does not come, write to [^<\s]+@/)
  const link = (await linkFor(app, email, '/preferences/data/')).replace(app.url, '')
  assert.equal((await visitor.post(`${link}/download`)).status, 200)
  assert.equal((await visitor.post(`${link}/delete`, { sure: 'yes' })).status, 200)
  assert.deepEqual(await project.events(), ['subscriber.deleted', 'subscriber.deleted', 'contact.deleted'])
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
