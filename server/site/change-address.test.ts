import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newReader, preferencesPath } from '../../tests/support/readers.ts'
import { recipientsOf, suppressionsOf, type TestRecipient } from '../../tests/support/recipients.ts'
import { bounceAbout } from '../../tests/support/reports.ts'
import { assertCounts, queuedMail } from '../../tests/support/subscribers.ts'
import { until } from '../../tests/support/until.ts'
import { capturedFor } from '../../tests/support/visitor.ts'
import { linkFor, newPerson } from '../../tests/support/waitlists.ts'

/** Mail to another address: the mailbox that has it now agrees first, then the new one. */
const app = await startApp()
const dayMs = 24 * 3_600_000

type Reader = Awaited<ReturnType<typeof newReader>>

const linkIn = async (email: string, kind: string) => (await linkFor(app, email, kind)).replace(app.url, '')

/** As far as the mail to the new address; answers its link. */
async function agree({ path, visitor, email }: Pick<Reader, 'path' | 'visitor' | 'email'>, to: string): Promise<string> {
  assert.equal((await visitor.post(`${path}/address`, { email: to })).status, 200)
  assert.equal((await visitor.post(await linkIn(email, '/preferences/agree/'))).status, 200)
  return linkIn(to, '/preferences/address/')
}

test('both mailboxes say yes, the old one hears of the end, and all that is known stays', async () => {
  const { project, news, email, path, visitor, statuses, subscribers } = await newReader(app)
  const to = newPerson('new')
  const asked = await visitor.post(`${path}/address`, { email: to })
  assert.deepEqual([asked.status, /Look into your mailbox, the one that you have now/.test(asked.html)], [200, true])
  const agreeing = await linkIn(email, '/preferences/agree/')
  for (let look = 0; look < 2; look++) assert.match((await visitor.get(agreeing)).html, new RegExp(`go to <strong>${to}</strong>`))
  assert.deepEqual(
    (await queuedMail(app, project)).map(({ recipient }) => recipient),
    [email],
    'nobody else is asked before',
  )
  assert.match((await visitor.post(agreeing)).html, /Now look into the new mailbox/)
  const link = await linkIn(to, '/preferences/address/')
  for (let look = 0; look < 2; look++) assert.match((await visitor.get(link)).html, new RegExp(`comes to <strong>${to}</strong>`))
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await statuses(), { [`News ${email}`]: 'active', [`Notes ${email}`]: 'active' })

  const done = await visitor.post(link)
  assert.deepEqual([done.status, /That is done/.test(done.html)], [200, true])
  assert.deepEqual(await project.events(), ['contact.updated'])
  assert.deepEqual(await statuses(), { [`News ${to}`]: 'active', [`Notes ${to}`]: 'active' })
  assert.equal((await project.get(`/lists/${news.id}/subscribers/${subscribers[0]?.id}`)).body.email, to)
  for (const again of [link, agreeing]) assert.match((await visitor.post(again)).html, /That is done/)
  assert.deepEqual(await project.events(), [])
  const told = await until('the old mailbox to hear of it', async () =>
    (await capturedFor(app, email)).find(({ subject }) => /goes to another address/.test(subject ?? '')),
  )
  assert.ok(!told.text?.includes(to))
})

test('that the old mailbox was full is not held against the new one', async () => {
  const reader = await newReader(app)
  const { project, news, visitor } = reader
  const post = async () => {
    const { body } = await project.post(`/lists/${news.id}/posts`, { subject: 'Hello', body_text: 'Hi' })
    assert.equal((await project.post(`/lists/${news.id}/posts/${body.id}/send`)).status, 202)
    await until('the post', async () => (await project.get(`/lists/${news.id}/posts/${body.id}`)).body.status === 'sent', {
      withinMs: 15_000,
    })
    return (await recipientsOf(app, project, body.id))[0] as TestRecipient
  }
  const softBounce = async ({ tokens, email }: TestRecipient) => {
    await bounceAbout(app, { token: tokens.return_path, email }, '4.2.2', 'mailbox full')
    app.clock.advance(dayMs)
  }
  const late = await post()
  for (let day = 0; day < 2; day++) await softBounce(await post())
  const to = newPerson('fresh')
  const path = await preferencesPath(app, { project, list: news, subscriber: reader.subscribers[0] as { id: string } })
  assert.match((await visitor.post(await agree({ ...reader, path }, to))).html, /That is done/)
  await softBounce(late)
  for (let day = 0; day < 2; day++) await softBounce(await post())
  assert.deepEqual([(await reader.statuses())[`News ${to}`], (await project.get('/suppressions')).body], ['active', []])
  await softBounce(await post())
  assert.deepEqual(await suppressionsOf(project), [[to, 'soft_bounces']])
})

test('who has nothing but a mail that was passed on moves nobody: not by the first link, nor by making the second', async () => {
  const { project, email, path, visitor, statuses } = await newReader(app)
  const thief = newPerson('thief')
  await visitor.post(`${path}/address`, { email: thief })
  const agreeing = await linkIn(email, '/preferences/agree/')
  const token = agreeing.split('/').at(-1) as string
  assert.deepEqual(
    (await queuedMail(app, project)).map(({ recipient }) => recipient),
    [email],
  )
  assert.ok(!(await capturedFor(app, email)).at(-1)?.text?.includes(thief), 'a stranger puts no words of theirs into the mail')
  for (const wrong of [`/preferences/address/${token}`, `/preferences/agree/${path.split('/').at(-1)}`])
    assert.deepEqual([(await visitor.get(wrong)).status, (await visitor.post(wrong)).status], [404, 404])
  assert.deepEqual(await project.events(), [])
  assert.deepEqual(await statuses(), { [`News ${email}`]: 'active', [`Notes ${email}`]: 'active' })
})

test('links in mail to the old address open nothing of the new one; leaving still works', async () => {
  const reader = await newReader(app)
  const { project, news, email, path, visitor, subscribers } = reader
  const { body: post } = await project.post(`/lists/${news.id}/posts`, { subject: 'Hello', body_text: 'Hi' })
  await project.post(`/lists/${news.id}/posts/${post.id}/send`)
  const mail = await until('the post', async () => (await capturedFor(app, email)).find(({ subject }) => subject === 'Hello'))
  const leave = /<(http[^>]+)>/
    .exec(mail.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '')?.[1]
    ?.replace(app.url, '') as string
  await visitor.post(`${path}/data`)
  const data = await linkIn(email, '/preferences/data/')
  const to = newPerson('new')
  await visitor.post(await agree(reader, to))
  await project.events()

  const forms: [string, Record<string, string>][] = [
    ['lists', { shown: news.id }],
    ['pause', { days: '7' }],
    ['address', { email: newPerson() }],
    ['data', {}],
  ]
  assert.equal((await visitor.get(path)).status, 404)
  for (const [form, fields] of forms) assert.equal((await visitor.post(`${path}/${form}`, fields)).status, 404, form)
  const looked = await visitor.get(data)
  assert.deepEqual([looked.status, (await visitor.post(`${data}/download`)).status], [410, 410])
  assert.equal((await visitor.post(`${data}/delete`, { sure: 'yes' })).status, 410)
  assert.deepEqual(await project.events(), [])
  const shown = [looked, await visitor.get(path), await visitor.get(leave), await visitor.post(leave)]
  assert.ok(shown.every(({ html }) => !html.includes(to) && !html.includes('/preferences/')))
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])
  const now = await preferencesPath(app, { project, list: news, subscriber: subscribers[0] as { id: string } })
  assert.match((await visitor.get(now)).html, new RegExp(`For <strong>${to}</strong>`))
})

test('a confirmation link to the old address neither confirms nor shows the new one; one of an older release confirms', async () => {
  const reader = await newReader(app)
  const { project, others, email, visitor } = reader
  const { body: pending } = await project.post(`/lists/${others.id}/subscribers`, { email })
  const confirm = await linkIn(email, '/confirm/')
  await project.events()
  const payload = app.services.secrets.verify('confirm', confirm.split('/').at(-1) as string) as Buffer
  const older = `/confirm/${app.services.secrets.sign('confirm', payload.subarray(0, 48))}`
  assert.match((await visitor.get(confirm)).html, new RegExp(`<strong>${email}</strong> gets`))
  await visitor.post(await agree(reader, newPerson('new')))
  await project.events()
  assert.deepEqual([(await visitor.get(confirm)).status, (await visitor.post(confirm)).status], [404, 404])
  assert.deepEqual(await project.events(), [])
  assert.match((await visitor.get(older)).html, /and you get <strong>Others/)
  const confirmed = await visitor.post(older)
  assert.deepEqual([/You are subscribed/.test(confirmed.html), confirmed.html.includes('/preferences/')], [true, false])
  assert.deepEqual(await project.events(), ['subscriber.confirmed'])
  assert.equal((await project.get(`/lists/${others.id}/subscribers/${pending.id}`)).body.status, 'active')
})

test('an address that the sender knows already gets the lists, and stays who it is', async () => {
  const reader = await newReader(app)
  const { project, news, email, visitor, statuses } = reader
  const to = newPerson('known')
  const { body: left } = await project.post(`/lists/${news.id}/subscribers`, { email: to, verified: true })
  await project.patch(`/lists/${news.id}/subscribers/${left.id}`, { status: 'unsubscribed' })
  const link = await agree(reader, to)
  await project.events()
  assert.equal((await visitor.post(link)).status, 200)
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

test('wrong, thrown away, the same, and who gets no mail: said at once, and nothing is sent', async () => {
  const { project, path, visitor, email } = await newReader(app)
  for (const wrong of ['', 'x', 'a@b.example\r\nBcc: c@d.example', 'x@mailinator.com', email])
    assert.equal((await visitor.post(`${path}/address`, { email: wrong })).status, 422, wrong)
  await project.post('/suppressions', { email })
  assert.ok(!(await visitor.get(path)).html.includes('Another address'))
  const unreachable = await visitor.post(`${path}/address`, { email: newPerson() })
  assert.deepEqual([unreachable.status, /it cannot agree/.test(unreachable.html)], [422, true])
  assert.deepEqual(await queuedMail(app, project), [])
})

test('so often a day to the mailbox that is asked first, whatever is typed; links last a day', async () => {
  const { project, path, visitor, email } = await newReader(app)
  const statuses = []
  for (let round = 0; round < 4; round++) statuses.push((await visitor.post(`${path}/address`, { email: newPerson() })).status)
  assert.deepEqual(statuses, [200, 200, 200, 422])
  assert.equal((await queuedMail(app, project)).length, 3)
  const agreeing = await linkIn(email, '/preferences/agree/')
  app.clock.advance(dayMs + 1_000)
  assert.deepEqual([(await visitor.get(agreeing)).status, (await visitor.post(agreeing)).status], [410, 410])
  assert.deepEqual(await project.events(), [])
  const other = await newReader(app)
  const link = await agree(other, newPerson())
  app.clock.advance(dayMs + 1_000)
  assert.deepEqual([(await visitor.get(link)).status, (await visitor.post(link)).status], [410, 410])
  assert.deepEqual(await other.project.events(), [])
})

test('nobody learns who is suppressed: the same answers, and the same number of them', async () => {
  const answersFor = async (prepare: (reader: Reader, to: string) => Promise<unknown>) => {
    const reader = await newReader(app)
    const to = newPerson()
    await prepare(reader, to)
    const asked = await reader.visitor.post(`${reader.path}/address`, { email: to })
    const link = await linkIn(reader.email, '/preferences/agree/')
    const answers: string[] = [`${asked.status}`]
    for (let round = 0; round < 7; round++) {
      const { status, html } = await reader.visitor.post(link)
      answers.push(`${status} ${/<h1>([^<]*)/.exec(html)?.[1]}`)
    }
    const mail = (await queuedMail(app, reader.project)).filter(({ recipient }) => recipient === to).length
    assert.deepEqual(await reader.project.events(), [])
    return { answers, mail }
  }
  const free = await answersFor(async () => undefined)
  const suppressed = await answersFor(({ project }, to) => project.post('/suppressions', { email: to }))
  assert.deepEqual(free.answers, ['200', ...Array(5).fill('200 Now look into the new mailbox'), ...Array(2).fill('429 Too often')])
  assert.deepEqual(suppressed.answers, free.answers)
  assert.deepEqual([free.mail, suppressed.mail], [3, 0])
})
