import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileMail, verdictsOf } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newList } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor, newVisitor, type Visitor } from '../../../tests/support/visitor.ts'

const app = await startApp()
const proven = verdictsOf('example.com')

const write = (list: { mailbox_address: string }, by: TestProject, more: object = {}) =>
  fileMail(app, {
    recipients: [list.mailbox_address],
    from: `Editor <${by.email}>`,
    envelope_from: by.email,
    subject: 'News of May',
    html: '<p>Dear <b>readers</b></p>',
    verdicts: proven,
    ...more,
  })

const resultsOf = async (project: TestProject) =>
  (
    await app.services.database.many<{
      handler_results: object | null
    }>`select handler_results from emails where project_id = ${project.id} order by id`
  ).map((row) => row.handler_results)

/** The paths of the two links that an owner is sent. */
async function linksFor(email: string): Promise<[approve: string, reject: string]> {
  const mail = await until(`a notice to ${email}`, async () => (await capturedFor(app, email))[0])
  const [approve, reject] = (mail.text?.match(/https?:\/\/\S+/g) ?? []).map((link) => link.replace(app.url, ''))
  return [approve as string, reject as string]
}

/** Looks, and presses a button. */
async function press(visitor: Visitor, path: string, answer: 'approve' | 'reject') {
  const shown = /name="shown" value="([\w-]+)"/.exec((await visitor.get(path)).html)?.[1] ?? ''
  return visitor.post(path, { answer, shown })
}

test('what a member writes to the list is a draft that an owner approves on a page, by its button alone', async () => {
  const { project, list, path } = await newList(app, { subscribers: 2 })
  const editor = await project.addMember('editor')
  await write(list, editor)
  assert.deepEqual(await project.events(), ['contact.created', 'post.created', 'email.received'])
  const [draft] = (await project.get(path)).body
  assert.deepEqual([draft.subject, draft.status, draft.source, draft.needs_approval], ['News of May', 'draft', 'email', true])
  assert.deepEqual(await resultsOf(project), [{ post: { status: 'drafted', post_id: draft.id } }])
  const { body: post } = await project.get(`${path}/${draft.id}`)
  assert.match(post.body_html, /^<p>Dear <b>readers<\/b><\/p>/)

  const [approve, reject] = await linksFor(project.email)
  assert.equal((await capturedFor(app, editor.email)).length, 0)
  assert.equal(reject, `${approve}?answer=reject`)
  const visitor = newVisitor(app.url)
  const page = await visitor.get(approve)
  assert.equal(page.status, 200)
  assert.match(page.html, /News of May.*Dear readers.*Send it to 2 readers/s)
  assert.equal((await visitor.get(reject)).status, 200)
  assert.equal((await project.get(`${path}/${draft.id}`)).body.status, 'draft')
  assert.deepEqual(await project.events(), [])
  assert.equal((await visitor.post(approve, {})).status, 200)
  assert.deepEqual(await project.events(), [])

  const sent = await press(visitor, approve, 'approve')
  assert.match(sent.html, /It is on its way/)
  assert.equal((await project.events())[0], 'post.sent')
  await until('the post to be sent', async () => (await project.get(`${path}/${draft.id}`)).body.status === 'sent')
  const again = await visitor.post(approve, { answer: 'approve' })
  assert.deepEqual([again.status, /decided already/.test(again.html)], [409, true])
})

test('rejected by its link, it stays rejected; a link of somebody who left, an old one and a forged one do nothing', async () => {
  const { project, list, path } = await newList(app, { subscribers: 1 })
  const second = await project.addMember('owner')
  await write(list, project)
  await project.events()
  const [draft] = (await project.get(path)).body
  const visitor = newVisitor(app.url)
  const [approveOfSecond] = await linksFor(second.email)
  await project.delete(`/members/${(await second.get('/api/me')).body.user.id}`)
  const refused = await visitor.post(approveOfSecond, { answer: 'approve' })
  assert.deepEqual([refused.status, /no member/.test(refused.html)], [403, true])
  const [, reject] = await linksFor(project.email)
  const forged = reject.replace(/(.)(.\?)/, (_, letter, rest) => `${letter === 'A' ? 'B' : 'A'}${rest}`)
  assert.equal((await visitor.post(forged, { answer: 'reject' })).status, 404)
  assert.match((await press(visitor, reject, 'reject')).html, /It is rejected/)
  assert.equal((await project.get(`${path}/${draft.id}`)).body.status, 'rejected')
  assert.deepEqual(await project.events(), ['post.updated'])
  assert.match((await visitor.get(reject)).html, /was rejected/)
  app.clock.advance(15 * 86_400_000)
  assert.equal((await visitor.get(reject)).status, 404)
})

test('what cannot be sent says why, and stays a draft', async () => {
  const { project, list, path } = await newList(app)
  await write(list, project, { subject: 'To nobody' })
  const [approve] = await linksFor(project.email)
  const page = await press(newVisitor(app.url), approve, 'approve')
  assert.deepEqual([page.status, /no active subscribers/.test(page.html)], [422, true])
  assert.equal((await project.get(path)).body[0].status, 'draft')
})

test('only a member who may write, whose domain vouches for the mail, makes a draft; all else is mail', async () => {
  const { project, list, path } = await newList(app)
  const viewer = await project.addMember('viewer')
  await write(list, viewer)
  await write(list, project, { from: 'stranger@example.com', envelope_from: 'stranger@example.com' })
  await write(list, project, { verdicts: verdictsOf() })
  await write(list, project, { verdicts: verdictsOf('elsewhere.example') })
  await write(list, project, { subject: 'Re: News', headers: ['In-Reply-To: <x@example.com>'] })
  await write(list, project, { headers: ['Auto-Submitted: auto-replied'] })
  assert.deepEqual((await project.get(path)).body, [])
  const unproven = {
    post: { status: 'refused', reason: 'It claims to be by a member, but neither DKIM nor SPF proves it. Nothing was drafted.' },
  }
  assert.deepEqual(await resultsOf(project), [null, null, unproven, unproven, null, null])
  assert.deepEqual(
    (await project.events()).filter((type) => type !== 'contact.created'),
    Array(6).fill('email.received'),
  )
  const { body: other } = await project.post('/mailboxes', { list_id: list.id })
  await fileMail(app, { recipients: [other.address], from: project.email, verdicts: proven })
  assert.deepEqual((await project.get(path)).body, [], 'a mailbox that is tied to a list is not its address')
})
