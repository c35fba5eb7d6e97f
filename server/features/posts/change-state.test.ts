import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, broadcastOf, newList, newPost, postData } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'

const app = await startApp({ ROLES: 'http,consumers' })
const { database } = app.services

const tomorrow = () => new Date(app.clock.now().getTime() + 86_400_000).toISOString()

/** A post in any state that there is, and the path to it. */
async function postThatIs(state: string, project: TestProject, list: { id: string }): Promise<string> {
  const posts = `/lists/${list.id}/posts`
  if (state === 'sending' || state === 'paused')
    return `${posts}/${await addPostInFlight(database, { project_id: project.id, listId: list.id, status: state })}`
  const { body: post } = await project.post(posts, { subject: state, body_text: 'Hi' })
  const [status, needs_approval] = state === 'to approve' ? ['draft', true] : [state, false]
  const scheduled_at = status === 'scheduled' ? tomorrow() : null
  await database.run`
    update posts set status = ${status}, needs_approval = ${needs_approval}, scheduled_at = ${scheduled_at} where project_id = ${project.id} and subject = ${state}`
  await project.events()
  return `${posts}/${post.id}`
}

const states = ['draft', 'to approve', 'scheduled', 'published', 'sending', 'paused', 'sent', 'rejected']
const bodies: Record<string, () => object> = { schedule: () => ({ scheduled_at: tomorrow() }) }

/** What each action makes of each state that allows it, and the event that tells. Every other state is refused. */
const actions: Record<string, { event: string; from: Record<string, object> }> = {
  schedule: {
    event: 'post.updated',
    from: {
      draft: { status: 'scheduled', needs_approval: false },
      'to approve': { status: 'scheduled', needs_approval: false },
      scheduled: { status: 'scheduled', needs_approval: false },
    },
  },
  cancel: { event: 'post.updated', from: { scheduled: { status: 'draft', scheduled_at: null } } },
  reject: { event: 'post.updated', from: { 'to approve': { status: 'rejected', needs_approval: true } } },
  publish: {
    event: 'post.updated',
    from: { draft: { status: 'published' }, 'to approve': { status: 'published', needs_approval: false } },
  },
  unpublish: {
    event: 'post.updated',
    from: {
      published: { status: 'draft', hidden_at: null },
      sending: { status: 'draft', sending: true },
      paused: { status: 'draft', sending: true },
      sent: { status: 'sent' },
    },
  },
  pause: {
    event: 'post.paused',
    from: { sending: { status: 'draft', sending: true, broadcast: { status: 'paused', reason: 'Paused by hand', warm_up: null } } },
  },
  resume: {
    event: 'post.resumed',
    from: { paused: { status: 'draft', sending: true, broadcast: { status: 'sending', reason: null, warm_up: null } } },
  },
  abort: {
    event: 'post.cancelled',
    from: { sending: { status: 'sent', sending: false }, paused: { status: 'sent', sending: false } },
  },
}

for (const [action, { event, from }] of Object.entries(actions)) {
  test(`${action}: ${Object.keys(from).join(', ')} and nothing else`, async () => {
    const { project, list } = await newList(app)
    for (const state of states) {
      const path = await postThatIs(state, project, list)
      const { body: before } = await project.get(path)
      const { status, body } = await project.post(`${path}/${action}`, bodies[action]?.())
      const wanted = from[state]
      if (wanted === undefined) {
        assert.deepEqual([status, body.error?.code], [422, 'validation_error'], `${action} of ${state}`)
        assert.match(body.error.message, new RegExp(`^status: is ${state === 'to approve' ? 'draft' : state}.*; only a `))
        assert.deepEqual((await project.get(path)).body, before)
        assert.deepEqual(await project.events(), [])
      } else {
        assert.equal(status, 200, `${action} of ${state}: ${JSON.stringify(body)}`)
        const shown = Object.fromEntries(Object.keys(wanted).map((name) => [name, body[name]]))
        assert.deepEqual(shown, wanted)
        assert.deepEqual((await project.get(path)).body, body)
        const data = await postData(project, list, body)
        assert.deepEqual(await project.eventsWithData(), [{ type: event, data }])
      }
    }
  })
}

test('a time is kept as it was meant, can be moved, and must lie ahead', async () => {
  const { project, path } = await newPost(app)
  const first = await project.post(`${path}/schedule`, { scheduled_at: '2099-06-01T10:00:00+02:00' })
  assert.equal(first.body.scheduled_at, '2099-06-01T08:00:00.000Z')
  assert.equal(
    (await project.post(`${path}/schedule`, { scheduled_at: '2098-06-01T08:00:00Z' })).body.scheduled_at,
    '2098-06-01T08:00:00.000Z',
  )
  await project.events()
  const cases: [object, RegExp][] = [
    [{ scheduled_at: '2020-01-01T00:00:00Z' }, /^scheduled_at: must be in the future/],
    [{ scheduled_at: app.clock.now().toISOString() }, /^scheduled_at: must be in the future/],
    [{ scheduled_at: '2099-01-01T00:00:00' }, /^scheduled_at: must be an ISO 8601 time with an offset/],
    [{ scheduled_at: 'tomorrow' }, /^scheduled_at: /],
    [{}, /^scheduled_at: is required/],
  ]
  for (const [body, message] of cases) {
    const answer = await project.post(`${path}/schedule`, body)
    assert.equal(answer.status, 422)
    assert.match(answer.body.error.message, message)
  }
  assert.equal((await project.get(path)).body.scheduled_at, '2098-06-01T08:00:00.000Z')
  assert.deepEqual(await project.events(), [])
})

test('what has no body is neither scheduled nor published', async () => {
  const { project, path } = await newPost(app, { body: { body_html: ' \n' } })
  for (const answer of [await project.post(`${path}/schedule`, { scheduled_at: tomorrow() }), await project.post(`${path}/publish`)]) {
    assert.equal(answer.status, 422)
    assert.match(answer.body.error.message, /^body_html: is empty, and so are body_markdown and body_text/)
  }
  assert.equal((await project.get(path)).body.status, 'draft')
  assert.deepEqual(await project.events(), [])
})

test('publishing says when, and a rejected post stays in the list', async () => {
  const { project, path } = await newPost(app)
  const { body } = await project.post(`${path}/publish`)
  assert.ok(Date.parse(body.published_at))
  const { list, project: other } = await newList(app)
  const rejected = await postThatIs('to approve', other, list)
  await other.post(`${rejected}/reject`)
  const { body: posts } = await other.get(`/lists/${list.id}/posts`)
  assert.deepEqual(
    posts.map((post: { status: string }) => post.status),
    ['rejected'],
  )
})

test('what the engine is told by pause, resume and abort', async () => {
  const { project, list } = await newList(app)
  const id = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  const path = `/lists/${list.id}/posts/${id}`
  const states: (string | undefined)[] = []
  for (const action of ['pause', 'resume', 'abort']) {
    assert.equal((await project.post(`${path}/${action}`)).status, 200)
    states.push((await broadcastOf(app, project, id))?.status)
  }
  assert.deepEqual(states, ['paused', 'sending', 'aborted'])
  const { body } = await project.get(path)
  assert.deepEqual(body.stats, { recipients: 3, delivered: 0, opened: 0, clicked: 0, bounced: 0 })
  assert.ok(Date.parse(body.sent_at))
  assert.deepEqual(await project.events(), ['post.paused', 'post.resumed', 'post.cancelled'])
})

test('of twenty who pause at once, one does', async () => {
  const { project, list } = await newList(app)
  const id = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  const answers = await Promise.all(Array.from({ length: 20 }, () => project.post(`/lists/${list.id}/posts/${id}/pause`)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array.from({ length: 19 }, () => 422)])
  assert.deepEqual(await project.events(), ['post.paused'])
})
