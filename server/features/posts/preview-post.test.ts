import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost, postData } from '../../../tests/support/posts.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor } from '../../../tests/support/visitor.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

let number = 0
const newAddress = () => `tester-${++number}@example.org`

test('a preview shows the post to somebody unknown, and to a subscriber by what is known of them', async () => {
  const { project, list, path } = await newPost(app, {
    body: {
      subject: 'For {{ first_name | default: "you" }}',
      body_html:
        '<p>{{ name | default: "friend" }} in {{ contact.metadata.town | default: "town" }}</p><a href="https://example.org/a">A</a>',
    },
  })
  const subscriber = { email: 'ann@example.org', name: 'Ann <b>Lee</b>', verified: true, metadata: { town: 'Łódź' } }
  const { body: ann } = await project.post(`/lists/${list.id}/subscribers`, subscriber)
  await project.events()

  const { status, body: unknown } = await project.get(`${path}/preview`)
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(unknown).sort(), ['html', 'subject', 'text'])
  assert.equal(unknown.subject, 'For you')
  assert.match(unknown.html, /friend in town/)
  assert.match(unknown.text, /friend in town/)
  assert.match(unknown.html, new RegExp(`href="${app.url}/u/preview"`), 'a way out is always there')

  const { body: known } = await project.get(`${path}/preview?subscriber_id=${ann.id}`)
  assert.equal(known.subject, 'For Ann')
  assert.match(known.html, /Ann &lt;b&gt;Lee&lt;\/b&gt; in Łódź/)
  assert.match(known.text, /Ann <b>Lee<\/b> in Łódź/)
  assert.deepEqual(await project.events(), [])
})

test('Markdown becomes HTML, and text alone stays text', async () => {
  const { project, path } = await newPost(app, { body: { body_html: undefined, body_markdown: '# Big\n\n*news*' } })
  const { body } = await project.get(`${path}/preview`)
  assert.match(body.html, /<h1[^>]*>Big<\/h1>[\s\S]*<em[^>]*>news<\/em>/)
  const plain = await newPost(app, { body: { body_html: undefined, body_text: 'Only text' } })
  const { body: text } = await plain.project.get(`${plain.path}/preview`)
  assert.equal(text.html, null)
  assert.match(text.text, /^Only text/)
})

test('a subscriber who is not on the list is not found, and what is no id is named', async () => {
  const { project, path } = await newPost(app)
  const other = await newPost(app)
  const { body: foreign } = await other.project.post(`/lists/${other.list.id}/subscribers`, { email: 'bob@example.org', verified: true })
  for (const id of [foreign.id, formatId('sub', newId())]) {
    const answer = await project.get(`${path}/preview?subscriber_id=${id}`)
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  }
  const wrong = await project.get(`${path}/preview?subscriber_id=ann`)
  assert.equal(wrong.status, 422)
  assert.match(wrong.body.error.message, /^subscriber_id: /)
})

test('a copy has the words of the post, of the same list', async () => {
  const { project, list, post, path } = await newPost(app, { body: { preview_text: 'Look', body_text: 'Hi' } })
  await project.post(`${path}/publish`)
  await project.events()
  const { status, body } = await project.post(`${path}/duplicate`)
  assert.equal(status, 201)
  assert.notEqual(body.id, post.id)
  assert.deepEqual({ ...body, id: post.id, created_at: post.created_at }, post)
  assert.deepEqual((await project.get(path.replace(post.id, body.id))).body, body)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.created', data: await postData(project, list, body) }])
})

test('test copies go to each address once, say what they are, and count', async () => {
  const { project, list, path } = await newPost(app, {
    body: { subject: 'Hi {{ name | default: "you" }}', body_html: '<p>Dear {{ email }}</p>' },
  })
  await project.patch(`/lists/${list.id}`, { reply_to: 'editor@example.org' })
  await project.events()
  const [first, second] = [newAddress(), newAddress()]
  const { status, body } = await project.post(`${path}/test`, { to: [first, second, first.toUpperCase()] })
  assert.equal(status, 200)
  assert.deepEqual(body, { sent: 2 })
  for (const address of [first, second]) {
    const [mail, ...more] = await until('the copy', async () => {
      const mails = await capturedFor(app, address)
      return mails.length > 0 && mails
    })
    assert.deepEqual(
      [mail?.subject, mail?.from?.address, mail?.replyTo?.[0]?.address, more.length],
      ['[Test] Hi you', list.mailbox_address, 'editor@example.org', 0],
    )
    assert.match(mail?.html ?? '', new RegExp(`Dear ${address}`))
    assert.match(mail?.text ?? '', new RegExp(`Dear ${address}`))
  }
  assert.equal((await project.get('/usage')).body.emails_sent, 2)
  assert.deepEqual(await project.events(), [])
})

test('a test copy has the fields of a list’s mail, as readers get them, and its way out leads nowhere', async () => {
  const { project, list, path } = await newPost(app, { subscribers: 1, body: { body_html: '<p>Hi</p>' } })
  await project.patch(`/lists/${list.id}`, { name: 'Ünï "News", weekly: a name that is long enough to be folded' })
  const to = newAddress()
  await project.post(`${path}/test`, { to: [to] })
  const copy = await until('the copy', async () => (await capturedFor(app, to))[0])
  await project.post(`${path}/send`)
  const real = await until('the real one', async () => (await capturedFor(app, 'reader-1@example.org')).at(-1))
  const listFieldsIn = ({ headers }: typeof copy) =>
    headers
      .filter(({ key }) => /^(list-|feedback-id)/.test(key))
      .map(({ key, value }) => `${key}: ${value.replace(/(?<=[/+])\w{52}/g, 'preview')}`)
      .sort()
  assert.deepEqual(listFieldsIn(copy), listFieldsIn(real))
  assert.equal(listFieldsIn(copy).length, 6)
  const link = /<(http[^>]+)>/.exec(copy.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '')?.[1] as string
  assert.equal((await fetch(link, { method: 'POST', body: 'List-Unsubscribe=One-Click' })).status, 404)
  assert.equal((await project.get(`/lists/${list.id}/subscribers`)).body[0].status, 'active')
})

test('one address gets a few test copies an hour, whatever the plan has room for', async () => {
  const { project, path } = await newPost(app)
  const [to, other] = [newAddress(), newAddress()]
  const ask = (...addresses: string[]) => project.post(`${path}/test`, { to: addresses })
  const answers = await Promise.all(Array.from({ length: 15 }, () => ask(to)))
  assert.equal(answers.filter(({ status }) => status === 200).length, 10)
  await project.events()
  const full = await ask(other, to.toUpperCase())
  assert.deepEqual([full.status, full.body.error.code, full.headers.get('retry-after')], [429, 'rate_limited', '600'])
  assert.match(full.body.error.message, /^to\[1\]: has got 10 test copies within the hour/)
  assert.equal((await project.get('/usage')).body.emails_sent, 10, 'what was refused is not counted')
  assert.deepEqual(await project.events(), [])
  assert.equal((await ask(other)).status, 200)
  app.clock.advance(3_601_000)
  assert.equal((await ask(to)).status, 200)
})

test('test copies are refused where they cannot go, and nothing is sent', async () => {
  const { project, path } = await newPost(app)
  const suppressed = newAddress()
  await project.post('/suppressions', { email: suppressed })
  const cases: [object, RegExp][] = [
    [{}, /^to: is required/],
    [{ to: [] }, /^to: must name at least one address/],
    [{ to: Array.from({ length: 6 }, newAddress) }, /^to: must name at most 5 addresses/],
    [{ to: [newAddress(), 'nobody'] }, /^to\[1\]: has no @/],
    [{ to: [newAddress(), suppressed] }, /^to\[1\]: is suppressed \(manual\)/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post(`${path}/test`, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.match(answer.body.error.message, message)
  }
  await project.setPlan('anonymous')
  for (let times = 0; times < 2; times++)
    assert.equal((await project.post(`${path}/test`, { to: Array.from({ length: 5 }, newAddress) })).status, 200)
  const full = await project.post(`${path}/test`, { to: [newAddress()] })
  assert.deepEqual([full.status, full.body.error.code], [402, 'limit_exceeded'])
  assert.equal((await project.get('/usage')).body.emails_sent, 10)
  const { body: empty } = await project.post(path.replace(/\/post_\w+$/, ''), { subject: 'Empty' })
  await project.events()
  const nothing = await project.post(path.replace(/post_\w+$/, `${empty.id}/test`), { to: [newAddress()] })
  assert.match(nothing.body.error.message, /^body_html: is empty/)
  assert.deepEqual(await project.events(), [])
})
