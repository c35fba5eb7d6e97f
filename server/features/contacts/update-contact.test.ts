import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'

const app = await startApp()

async function newContact() {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'News' })
  await project.post(`/lists/${list.id}/subscribers`, { email: 'ann@example.com', verified: true })
  await project.events()
  const [{ id }] = (await project.get('/contacts')).body
  return { project, path: `/contacts/${id}`, id, before: (await project.get(`/contacts/${id}`)).body }
}

test('notes are written, told of once, and nothing else changes', async () => {
  const { project, path, id, before } = await newContact()
  app.clock.advance(1_000)
  const { status, body } = await project.patch(path, { notes: 'Met at the fair.\nLikes tea.', name: 'not settable here' })
  assert.equal(status, 200)
  assert.deepEqual(body, { ...before, notes: 'Met at the fair.\nLikes tea.', updated_at: body.updated_at })
  assert.ok(body.updated_at > before.updated_at)
  assert.deepEqual(await project.eventsWithData(), [{ type: 'contact.updated', data: { contact_id: id, contact: body } }])

  app.clock.advance(1_000)
  assert.deepEqual((await project.patch(path, { notes: 'Met at the fair.\nLikes tea.' })).body, body)
  assert.deepEqual((await project.get(path)).body, body)
  assert.deepEqual(await project.events(), [])
})

test('notes can be emptied', async () => {
  const { project, path } = await newContact()
  await project.patch(path, { notes: 'x' })
  assert.equal((await project.patch(path, { notes: '' })).body.notes, '')
  assert.deepEqual(await project.events(), ['contact.updated', 'contact.updated'])
})

test('what is wrong is named, and another project’s contact is not found; neither changes anything', async () => {
  const { project, path, before } = await newContact()
  const stranger = await app.newProject()
  const cases: [unknown, RegExp][] = [
    [{}, /^notes: is required/],
    [undefined, /^notes: is required/],
    [{ notes: null }, /^notes: must be a string/],
    [{ notes: 5 }, /^notes: must be a string/],
    [{ notes: 'x'.repeat(50_001) }, /^notes: must have at most 50000 characters/],
    [{ notes: 'a\0b' }, /^notes: holds a NUL/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.patch(path, body)
    assert.equal(answer.status, 422)
    assert.match(answer.body.error.message, message)
  }
  const refused = await stranger.patch(path, { notes: 'mine' })
  assert.equal(refused.status, 404)
  assert.equal(refused.body.error.code, 'not_found')
  assert.deepEqual((await project.get(path)).body, before)
  assert.deepEqual([await project.events(), await stranger.events()], [[], []])
})
