import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaveBy, readBy } from '../../../tests/support/engagement.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newList } from '../../../tests/support/posts.ts'
import { newSentPost, type TestRecipient } from '../../../tests/support/recipients.ts'
import { bounceAbout, complaintAbout } from '../../../tests/support/reports.ts'
import { formatId, newId } from '../../base/ids.ts'

const app = await startApp()

const about = ({ tokens, email }: TestRecipient) => ({ token: tokens.return_path, email })

test('a new list has nothing', async () => {
  const { project, list } = await newList(app)
  const { status, body } = await project.get(`/stats/${list.id}`)
  assert.equal(status, 200)
  assert.deepEqual(body, {
    subscribers: { total: 0, active: 0, pending: 0, unsubscribed: 0, bounced: 0 },
    deliveries: { total_sent: 0, total_delivered: 0, total_opened: 0, total_clicked: 0, total_bounced: 0 },
  })
  assert.deepEqual(await project.events(), [])
})

test('subscribers by status, and what became of all posts: people are counted once, and a complaint is of mail that arrived', async () => {
  const made = await newSentPost(app, { subscribers: 5 })
  const { project, list } = made
  const [ann, bob, cy, dee] = made.recipients as [TestRecipient, TestRecipient, TestRecipient, TestRecipient]
  await readBy(app, project, ann, 'open', 'open', 0, 0, 1)
  await readBy(app, project, bob, 'open')
  await bounceAbout(app, about(cy))
  await complaintAbout(app, about(dee))
  await leaveBy(app, bob)
  await project.post(`/lists/${list.id}/subscribers`, { email: 'late@example.org' })
  await project.events()
  const { body } = await project.get(`/stats/${list.id}`)
  assert.deepEqual(body, {
    subscribers: { total: 6, active: 2, pending: 1, unsubscribed: 2, bounced: 1 },
    deliveries: { total_sent: 5, total_delivered: 4, total_opened: 2, total_clicked: 1, total_bounced: 1 },
  })
  const { body: post } = await project.get(made.path)
  assert.deepEqual(post.stats, { recipients: 5, delivered: 4, opened: 2, clicked: 1, bounced: 1 })
  assert.deepEqual(await project.events(), [])
})

test('another project’s list, one that never existed and one that is deleted are not found', async () => {
  const [{ project, list }, other] = [await newList(app), await app.newProject()]
  const paths = ['', '/series', '/posts']
  for (const path of paths) {
    const answers = [await other.get(`/stats/${list.id}${path}`), await other.get(`/stats/${formatId('lst', newId())}${path}`)]
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404],
      path,
    )
    assert.deepEqual(answers[0]?.body, answers[1]?.body)
  }
  await project.delete(`/lists/${list.id}`)
  await project.events()
  for (const path of paths) assert.equal((await project.get(`/stats/${list.id}${path}`)).status, 404)
  assert.deepEqual([...(await other.events()), ...(await project.events())], [])
})
