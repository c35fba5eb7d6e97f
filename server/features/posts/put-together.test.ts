import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { parseId } from '../../base/ids.ts'
import { sendDuePosts } from './index.ts'

const peer = await startSmtpPeer()
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}`, ROLES: 'http,consumers,sender' })
const { database } = app.services

/** More turns than one reader may cost. */
const endless = '{% for i in (1..999) %}{% for j in (1..999) %}{{ i }}{% endfor %}{% endfor %}'

/** As if it had been saved by an earlier release, which looked less closely. */
const write = (postId: string, html: string) => database.run`update posts set body_html = ${html} where id = ${parseId('post', postId)}`

test('what cannot be put together is told in a preview, a test copy and before anything is sent', async () => {
  const { project, post, path } = await newPost(app, { subscribers: 2 })
  const bodies: [string, RegExp][] = [
    ['<b>'.repeat(20_000), /^body_html: line 1, column 1501: elements are nested more than 500 deep/],
    [`a\n${endless}`, /^body_html: line 2, column \d+: .*is there a loop in it that does not end/],
    ['{{ x | nope }}', /^body_html: line 1, column 1: there is no filter "nope"/],
  ]
  for (const [html, message] of bodies) {
    await write(post.id, html)
    for (const answer of [
      await project.get(`${path}/preview`),
      await project.post(`${path}/test`, { to: ['tester@example.org'] }),
      await project.post(`${path}/send`),
    ]) {
      assert.deepEqual([answer.status, answer.body.error.code], [422, 'validation_error'])
      assert.match(answer.body.error.message, message)
    }
  }
  assert.deepEqual(await project.events(), [])
  assert.equal((await project.get('/usage')).body.emails_sent, 0)
  assert.equal((await project.get(path)).body.broadcast, undefined)
})

test('a post that takes minutes to put together is refused, and holds up nobody meanwhile', { timeout: 120_000 }, async () => {
  const html = `<style>b ~ i ~ p{color:red}</style>${'<i></i><p>x</p>'.repeat(3_000)}`
  const { project, path } = await newPost(app, { subscribers: 1, body: { body_html: html } })
  const other = await newPost(app, { subscribers: 1 })
  let isAnswered = false
  const preview = project.get(`${path}/preview`).then((answer) => {
    isAnswered = true
    return answer
  })
  assert.equal((await other.project.get(other.path)).status, 200)
  assert.equal(isAnswered, false, 'requests are answered meanwhile')
  assert.equal((await other.project.post(`${other.path}/send`)).status, 202)
  await until('the post of somebody else', async () => (await other.project.get(other.path)).body.status === 'sent')
  for (const answer of [await preview, await project.post(`${path}/send`)]) {
    assert.equal(answer.status, 422)
    assert.match(answer.body.error.message, /^body_html: line 1, column 1: takes too long to put together/)
  }
  assert.deepEqual(await project.events(), [])
})

test('it is tried on the first who would get it', async () => {
  const { project, path } = await newPost(app, {
    subscribers: 2,
    body: { body_html: `{% if name == "Reader 1" %}${endless}{% endif %}Hi` },
  })
  assert.equal((await project.get(`${path}/preview`)).status, 200)
  const answer = await project.post(`${path}/send`)
  assert.equal(answer.status, 422)
  assert.match(answer.body.error.message, /^body_html: line 1, column \d+: .*loop/)
  assert.deepEqual(await project.events(), [])
})

test('what is changed while it is being put together is not sent half old and half new', async () => {
  const { project, post, path } = await newPost(app, { subscribers: 1 })
  const sending = await database.transaction(async (tx) => {
    await tx.run`select 1 from posts where id = ${parseId('post', post.id)} for update`
    const answer = project.post(`${path}/send`)
    await until(
      'it to wait for the lock',
      async () =>
        database.first`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like '%from posts%for update%'`,
    )
    await tx.run`update posts set body_html = '<p>Other</p>' where id = ${parseId('post', post.id)}`
    return { answer }
  })
  const { status, body } = await sending.answer
  assert.deepEqual([status, body.error.code], [409, 'conflict'])
  assert.deepEqual(await project.events(), [])
  assert.equal((await project.get('/usage')).body.emails_sent, 0)
  assert.equal((await project.post(`${path}/send`)).status, 202)
})

test('a scheduled post that cannot be put together is a draft again, and others are sent', async () => {
  const [bad, good] = [await newPost(app, { subscribers: 1 }), await newPost(app, { subscribers: 1 })]
  const scheduled_at = new Date(app.clock.now().getTime() + 60_000).toISOString()
  for (const { project, path } of [bad, good]) {
    assert.equal((await project.post(`${path}/schedule`, { scheduled_at })).status, 200)
    await project.events()
  }
  await write(bad.post.id, '<b>'.repeat(20_000))
  app.clock.advance(61_000)
  await sendDuePosts(app.services)
  assert.equal((await bad.project.get(bad.path)).body.status, 'draft')
  assert.deepEqual(await bad.project.events(), ['post.updated'])
  assert.equal((await good.project.events())[0], 'post.sent')
})

test('what fails for one reader after the other pauses, says why, and bounces nobody', async () => {
  const { project, path } = await newPost(app, {
    subscribers: 30,
    body: { subject: 'For one alone', body_html: `{% unless name == "Reader 1" or name == "Ann Lee" %}${endless}{% endunless %}Hi` },
  })
  assert.equal((await project.post(`${path}/send`)).status, 202)
  const post = await until('the pause', async () => {
    const { body } = await project.get(path)
    return body.broadcast.status === 'paused' && body
  })
  assert.match(
    post.broadcast.reason,
    /^Paused by itself: it could not be put together for 10 readers in a row\. The last problem: line 1, column \d+: /,
  )
  assert.equal(post.stats.bounced, 0)
  await until('those to be in the ledger', async () => (await project.get(`${path}/deliveries?status=failed`)).body.length >= 10)
  const sent = peer.messages.filter(({ raw }) => raw.includes('For one alone'))
  assert.ok(sent.every(({ to }) => to[0] === 'reader-1@example.org'))
})
