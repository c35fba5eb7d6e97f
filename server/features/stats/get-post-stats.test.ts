import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveBy, readBy } from '../../../tests/support/engagement.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import { newSentPost, recipientsOf, type TestRecipient } from '../../../tests/support/recipients.ts'
import { bounceAbout, complaintAbout } from '../../../tests/support/reports.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId, newId } from '../../base/ids.ts'
import { wrongHours } from '../../delivery/broadcast/repair-hours.ts'

const app = await startApp()
const { database } = app.services
const hour = 3_600_000

const about = ({ tokens, email }: TestRecipient) => ({ token: tokens.return_path, email })
const noneWrong = async (project_id: string) =>
  assert.deepEqual(
    (await wrongHours(database, new Date(0))).filter((wrong) => wrong.project_id === project_id),
    [],
  )

const zeros = { recipients: 0, sent: 0, delivered: 0, bounced: 0, failed: 0, opened: 0, clicked: 0, complained: 0, unsubscribed: 0 }
const noRates = { open_rate: 0, click_rate: 0, bounce_rate: 0, complaint_rate: 0, unsubscribe_rate: 0 }

test('a draft has none, and no links', async () => {
  const { project, post, path, list } = await newPost(app)
  const { status, body } = await project.get(`${path}/stats`)
  assert.equal(status, 200)
  assert.deepEqual(body, { post_id: post.id, subject: 'Hello', sent_at: null, ...zeros, ...noRates, hours: [] })
  assert.deepEqual((await project.get(`${path}/links`)).body, [])
  assert.deepEqual((await project.get(`/stats/${list.id}/posts`)).body, [])
  assert.deepEqual(await project.events(), [])
})

test('what became of a post, when it was read, which links were followed, and who left by it', async () => {
  const { project, list, post, path, recipients } = await newSentPost(app, { subscribers: 6 })
  const [ann, bob, cy, dee, eve] = recipients as [TestRecipient, TestRecipient, TestRecipient, TestRecipient, TestRecipient]
  await readBy(app, project, ann, 'open', 0, 0, 1)
  await readBy(app, project, bob, 0)
  await bounceAbout(app, about(cy))
  await complaintAbout(app, about(dee))
  assert.equal((await leaveBy(app, eve)).status, 200)
  assert.equal((await leaveBy(app, eve)).status, 200, 'again, which counts no more')
  app.clock.advance(2 * hour)
  await readBy(app, project, bob, 'open', 1)
  await project.events()

  const { body } = await project.get(`${path}/stats`)
  const { hours, sent_at, ...numbers } = body
  assert.ok(sent_at)
  const counts = { recipients: 6, sent: 6, delivered: 5, bounced: 1, failed: 0, opened: 2, clicked: 2, complained: 1, unsubscribed: 1 }
  const rates = { open_rate: 0.4, click_rate: 0.4, bounce_rate: 0.1667, complaint_rate: 0.2, unsubscribe_rate: 0.2 }
  assert.deepEqual(numbers, { post_id: post.id, subject: 'Hello', ...counts, ...rates })
  assert.deepEqual((await project.get(`/stats/${list.id}/posts`)).body, [{ ...numbers, sent_at }])

  const sum = (name: string) => hours.reduce((total: number, one: Record<string, number>) => total + (one[name] ?? 0), 0)
  assert.deepEqual([sum('delivered'), sum('opened'), sum('clicked')], [5, 2, 2])
  assert.ok(hours.length >= 3, 'each hour that has begun is there')
  for (const [index, { hour: at }] of hours.entries()) assert.equal(Date.parse(at), Date.parse(hours[0].hour) + index * hour)
  const last = hours.findLast(({ opened }: { opened: number }) => opened > 0)
  assert.deepEqual([last.delivered, last.opened, last.clicked], [0, 1, 0], 'bob followed a link before, and opened only now')

  const { body: links } = await project.get(`${path}/links`)
  assert.deepEqual(links, [
    { url: 'https://example.org/a', clicks: 3, unique_clicks: 2 },
    { url: 'https://example.org/b?x=1&y=2', clicks: 2, unique_clicks: 2 },
  ])
  assert.deepEqual(await project.events(), [])
  await noneWrong(project.id)
})

test('three days are shown; what happens later counts all the same', async () => {
  const { project, path, first } = await newSentPost(app)
  app.clock.advance(200 * hour)
  await readBy(app, project, first, 'open')
  const { body } = await project.get(`${path}/stats`)
  assert.equal(body.hours.length, 72)
  assert.deepEqual([body.opened, body.hours.some(({ opened }: { opened: number }) => opened > 0)], [1, false])
  await noneWrong(project.id)
})

test('newest first, a page at a time', async () => {
  const made = await newPost(app, { subscribers: 1 })
  const { project, list } = made
  const posts = [made.post.id]
  for (const subject of ['Second', 'Third'])
    posts.push((await project.post(`/lists/${list.id}/posts`, { subject, body_html: '<p>Hi</p>' })).body.id)
  await project.post(`/lists/${list.id}/posts`, { subject: 'Never sent', body_html: '<p>Hi</p>' })
  for (const id of posts) await project.post(`/lists/${list.id}/posts/${id}/send`)
  for (const id of posts) await until('it to be sent', async () => (await recipientsOf(app, project, id)).length === 1)
  const seen: string[] = []
  for (let path: string | undefined = `/stats/${list.id}/posts?limit=2`; path; ) {
    const { status, body, headers } = await project.get(path)
    assert.equal(status, 200)
    seen.push(...body.map(({ post_id }: { post_id: string }) => post_id))
    path = /<[^>]*\/v1([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]
  }
  assert.deepEqual(seen, posts.toReversed())
  for (const query of ['limit=0', 'limit=201', 'cursor=x'])
    assert.equal((await project.get(`/stats/${list.id}/posts?${query}`)).status, 422)
})

test('another project’s post, one that never existed, and one of another list are not found', async () => {
  const [{ project, list, path }, other, elsewhere] = [await newPost(app), await app.newProject(), await newPost(app)]
  for (const what of ['stats', 'links']) {
    const answers = [
      await other.get(`${path}/${what}`),
      await project.get(`/lists/${list.id}/posts/${formatId('post', newId())}/${what}`),
      await elsewhere.project.get(`/lists/${elsewhere.list.id}/posts/${path.split('/').at(-1)}/${what}`),
    ]
    for (const { status, body } of answers) {
      assert.equal(status, 404)
      assert.deepEqual(body, answers[0]?.body)
    }
  }
  assert.deepEqual([...(await other.events()), ...(await project.events())], [])
})
