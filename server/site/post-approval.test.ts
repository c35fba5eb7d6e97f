import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileMail, verdictsOf } from '../../tests/support/inbound.ts'
import { startApp } from '../../tests/support/posthaste.ts'
import { newList } from '../../tests/support/posts.ts'
import { newVisitor } from '../../tests/support/visitor.ts'
import { linkFor } from '../../tests/support/waitlists.ts'
import { parseId, type UserId } from '../base/ids.ts'
import { sendShownPost } from '../features/posts/index.ts'
import { findMemberCaller } from '../features/sessions/index.ts'
import { runOperation } from '../operations/run-operation.ts'

const app = await startApp()
const visitor = newVisitor(app.url)

/** A post that came by mail, the owner's link to it, and a key that may change it but not send. */
async function mailedPost(mail: { text?: string; html?: string } = { text: 'A harmless post' }) {
  const made = await newList(app, { subscribers: 1 })
  const { project, list } = made
  await fileMail(app, {
    recipients: [list.mailbox_address],
    from: project.email,
    envelope_from: project.email,
    subject: 'By mail',
    verdicts: verdictsOf('example.com'),
    ...mail,
  })
  const link = await linkFor(app, project.email, '/approve/')
  const [post] = (await project.get(made.path)).body
  await project.events()
  return { ...made, path: `${made.path}/${post.id}`, post, link, writer: await project.withKey(['read', 'write']) }
}

const shownIn = (page: string): string => /name="shown" value="([\w-]+)"/.exec(page)?.[1] ?? assert.fail('nothing says what is shown')

test('the page shows what readers get: the HTML part where there is one, whole, and the text part beside it', async () => {
  const { link, writer, path } = await mailedPost()
  const seen = (await visitor.get(link)).html
  assert.match(seen, /<h1>By mail<\/h1>.*<pre>A harmless post/s)
  assert.doesNotMatch(seen, /without HTML/)
  const long = 'x '.repeat(5_000)
  const changed = await writer.patch(path, {
    subject: 'Send money',
    preview_text: 'Look inside',
    body_html: `<p><script>alert(1)</script>${long}</p><p>EVIL <a href="http://evil.example/pay">your bank</a></p><img src="https://evil.example/a.png">`,
  })
  assert.deepEqual([changed.status, changed.body.needs_approval], [200, true])
  const { html } = await visitor.get(link)
  assert.match(html, /<h1>Send money<\/h1>.*<pre>[x ]+\s+EVIL your bank &lt;http:\/\/evil\.example\/pay&gt;/s)
  assert.match(html, /without HTML gets this text instead<\/summary><pre>A harmless post/)
  assert.match(html, /As it was written.*Look inside.*&lt;script&gt;/s)
  assert.match(html, /pictures, which are not loaded here/)
  assert.doesNotMatch(html, /<script|<img|merge tags/)
})

test('what depends on the reader is said, and how it was written is open', async () => {
  const { link } = await mailedPost({ text: 'Hello{% if name %} EVIL{% endif %}' })
  assert.match((await visitor.get(link)).html, /<pre>Hello\n.*It has merge tags.*<details open>.*Hello\{% if name %\} EVIL\{% endif %\}/s)
})

test('a post that was changed since the look is shown anew, and neither sent nor rejected', async () => {
  const { link, writer, path, project } = await mailedPost()
  const shown = shownIn((await visitor.get(link)).html)
  await writer.patch(path, { subject: 'Send money', body_html: '<p>EVIL http://evil.example</p>' })
  assert.deepEqual(await project.events(), ['post.updated'])
  for (const fields of [{ answer: 'approve', shown }, { answer: 'reject', shown }, { answer: 'approve' }]) {
    const page = await visitor.post(link, fields)
    assert.equal(page.status, 409, JSON.stringify(fields))
    assert.match(page.html, /It was changed since you looked.*<h1>Send money<\/h1>.*EVIL http:\/\/evil\.example/s)
  }
  assert.deepEqual(await project.events(), [])
  const { body: draft } = await project.get(path)
  assert.deepEqual([draft.status, draft.needs_approval], ['draft', true])
  const sent = await visitor.post(link, { answer: 'approve', shown: shownIn((await visitor.get(link)).html) })
  assert.deepEqual([sent.status, /It is on its way/.test(sent.html)], [200, true])
})

test('nor by what the list says around it', async () => {
  const { link, writer, list, project } = await mailedPost()
  const shown = shownIn((await visitor.get(link)).html)
  await writer.patch(`/lists/${list.id}`, { name: 'Your bank' })
  assert.deepEqual(await project.events(), ['list.updated'])
  assert.equal((await visitor.post(link, { answer: 'approve', shown })).status, 409)
  assert.deepEqual(await project.events(), [])
})

test('nor in the moment between the press and the sending', async () => {
  const { link, path, post, list, project, writer } = await mailedPost()
  const shown = shownIn((await visitor.get(link)).html)
  await writer.patch(path, { body_text: 'EVIL' })
  await project.events()
  const caller = await findMemberCaller(app.services.database, {
    project_id: project.id,
    user_id: parseId('usr', (await project.get('/api/me')).body.user.id) as UserId,
  })
  await assert.rejects(
    runOperation(
      app.services,
      sendShownPost,
      { caller, request_id: 'test' },
      { params: { listId: list.id, postId: post.id }, query: { shown } },
    ),
    { code: 'conflict' },
  )
  assert.deepEqual(await project.events(), [])
})

test('what cannot be put together is shown as it was written, and can be rejected', async () => {
  const { link, project, path } = await mailedPost({ text: 'Hello {{ name' })
  const page = await visitor.get(link)
  assert.match(page.html, /It cannot be put together.*<details open>.*Hello \{\{ name/s)
  assert.equal((await visitor.post(link, { answer: 'approve', shown: shownIn(page.html) })).status, 422)
  assert.deepEqual(await project.events(), [])
  assert.equal((await visitor.post(link, { answer: 'reject', shown: shownIn(page.html) })).status, 200)
  assert.equal((await project.get(path)).body.status, 'rejected')
})
