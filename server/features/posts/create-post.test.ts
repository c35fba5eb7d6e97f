import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, asUser, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newList, postData } from '../../../tests/support/posts.ts'
import { speaking } from '../../../tests/support/project.ts'
import type { Scope } from '../../operations/context.ts'
import { insertToken, makeKey } from '../tokens/index.ts'

const app = await startApp()

const emptyPost = {
  preview_text: null,
  status: 'draft',
  source: 'api',
  needs_approval: false,
  sending: false,
  scheduled_at: null,
  published_at: null,
  hidden_at: null,
  slug: null,
  likes: 0,
  body_html: null,
  body_text: null,
  body_markdown: null,
  issues_summary: null,
  checked_at: null,
  sent_at: null,
}

test('a post begins as a draft with what was written, and its event tells', async () => {
  const { project, list, path } = await newList(app)
  const content = {
    subject: 'Grüße 🦊',
    body_html: '<p>Hi {{ name | default: "friend" }}</p>',
    body_text: 'Hi',
    body_markdown: '# Hi',
    preview_text: 'Look',
  }
  const { status, body } = await project.post(path, content)
  assert.equal(status, 201)
  const { id, created_at, ...rest } = body
  assert.match(id, /^post_/)
  assert.ok(Date.parse(created_at))
  assert.deepEqual(rest, { ...emptyPost, ...content })
  assert.deepEqual((await project.get(`${path}/${id}`)).body, body)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'post.created', data: await postData(project, list, body) }])
})

test('a subject is enough', async () => {
  const { project, path } = await newList(app)
  const { status, body } = await project.post(path, { subject: ' Later ' })
  assert.equal(status, 201)
  const { id: _id, created_at: _at, ...rest } = body
  assert.deepEqual(rest, { ...emptyPost, subject: 'Later' })
  assert.deepEqual(await project.events(), ['post.created'])
})

test('what is wrong is named, with its line and column in a template, and nothing is made', async () => {
  const { project, path } = await newList(app)
  const cases: [unknown, RegExp][] = [
    [{}, /^subject: is required/],
    [{ subject: '' }, /^subject: must not be empty/],
    [{ subject: 'x'.repeat(999) }, /^subject: must have at most 998/],
    [{ subject: 'a\r\nBcc: b@example.org' }, /^subject: must be one line/],
    [{ subject: 'x', body_html: 5 }, /^body_html: must be a string/],
    [{ subject: 'x', body_text: 'x'.repeat(1_000_001) }, /^body_text: must have at most/],
    [{ subject: 'x', preview_text: 'x'.repeat(501) }, /^preview_text: must have at most 500/],
    [{ subject: 'Hi {{ name' }, /^subject: line 1, column 4: /],
    [{ subject: 'x', body_html: '<p>\n</p>\n<b>{{ name | defualt: "x" }}</b>' }, /^body_html: line 3, column \d+: .*defualt/],
    [{ subject: 'x', body_text: 'one\n{% if name %}two' }, /^body_text: line 2, column 1: /],
    [{ subject: 'x', body_markdown: '{% include "x" %}' }, /^body_markdown: line 1, column 1: /],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post(path, body)
    assert.equal(answer.status, 422, JSON.stringify(body).slice(0, 100))
    assert.equal(answer.body.error.code, 'validation_error')
    assert.match(answer.body.error.message, message)
  }
  assert.deepEqual((await project.get(path)).body, [])
  assert.deepEqual(await project.events(), [])
})

test('a list that is not there, or is gone, takes no post', async () => {
  const { project, list, path } = await newList(app)
  const other = await app.newProject()
  assert.equal((await other.post(path, { subject: 'x' })).status, 404)
  assert.equal((await project.delete(`/lists/${list.id}`)).status, 204)
  await project.events()
  for (const answer of [await project.post(path, { subject: 'x' }), await project.get(path)]) {
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
  }
  assert.deepEqual([...(await project.events()), ...(await other.events())], [])
})

test('what an agent without the scope to send writes needs approval; what others write does not', async () => {
  const agent = await registerAnonymous(app)
  const keyFor = async (scopes: Scope[]) => {
    const key = makeKey(false)
    const [project_id, user_id] = [asProject(agent.project_id), asUser(agent.user_id)]
    const token = { project_id, user_id, name: 'more', key, scopes, mailbox_id: null, expires_at: null }
    await app.services.database.transaction((tx) => insertToken(tx, token))
    return speaking(app.url, key)
  }
  const [writer, sender] = [await keyFor(['read', 'write']), await keyFor(['read', 'write', 'send'])]
  const { body: list } = await writer.post('/lists', { name: 'By an agent' })
  const byWriter = await writer.post(`/lists/${list.id}/posts`, { subject: 'x' })
  assert.deepEqual([byWriter.status, byWriter.body.needs_approval], [201, true])
  const copy = await writer.post(`/lists/${list.id}/posts/${byWriter.body.id}/duplicate`)
  assert.deepEqual([copy.status, copy.body.needs_approval], [201, true])
  assert.equal((await sender.post(`/lists/${list.id}/posts`, { subject: 'x' })).body.needs_approval, false)

  const { project, path } = await newList(app)
  const human = await project.withKey(['read', 'write'])
  assert.equal((await human.post(path, { subject: 'x' })).body.needs_approval, false)
})
