import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, asUser, claimAs, newAddress, registerAnonymous } from '../../../tests/support/agents.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight } from '../../../tests/support/posts.ts'
import { speaking } from '../../../tests/support/project.ts'
import type { ProjectId } from '../../base/ids.ts'
import { insertToken, makeKey } from '../tokens/index.ts'

const app = await startApp({ ROLES: 'http,consumers,sender' })
const { database } = app.services

/** Where the posts of a subject are, with all that was sent of them. */
async function placesOf(list: ProjectId[], subject: string): Promise<Record<string, number[]>> {
  const rows = await database.many<{ place: string; project_id: ProjectId }>`
    select 'post' as place, project_id from posts where subject = ${subject} and project_id = any(${list}::uuid[])
    union all select 'broadcast', b.project_id from broadcasts b join posts p on p.id = b.post_id where p.subject = ${subject} and b.project_id = any(${list}::uuid[])
    union all select 'delivery', d.project_id from deliveries d join posts p on p.broadcast_id = d.broadcast_id where p.subject = ${subject} and d.project_id = any(${list}::uuid[])
    union all select 'link', l.project_id from broadcast_links l join posts p on p.broadcast_id = l.broadcast_id where p.subject = ${subject} and l.project_id = any(${list}::uuid[])`
  return Object.fromEntries(rows.map(({ place, project_id }) => [place, list.map((one) => (one === project_id ? 1 : 0))]))
}

test('posts come along with what was sent of them, also when it is not over', async () => {
  const agent = await registerAnonymous(app)
  const from = asProject(agent.project_id)
  const key = makeKey(false)
  const scopes = ['read', 'write'] as const
  await database.transaction((tx) =>
    insertToken(tx, { project_id: from, user_id: asUser(agent.user_id), name: 'more', key, scopes, mailbox_id: null, expires_at: null }),
  )
  const writer = speaking(app.url, key)
  const { body: list } = await writer.post('/lists', { name: 'Brought along' })
  const { body: draft } = await writer.post(`/lists/${list.id}/posts`, { subject: 'Draft' })
  for (const subject of ['Done', 'Under way']) {
    const id = await addPostInFlight(database, { project_id: from, listId: list.id, status: 'paused' })
    await database.run`update posts set subject = ${subject} where project_id = ${from} and subject = 'In flight'`
    assert.equal((await writer.get(`/lists/${list.id}/posts/${id}`)).body.subject, subject)
  }
  await database.run`
    insert into broadcast_links (project_id, broadcast_id, number, url) select project_id, broadcast_id, 0, 'https://example.org' from posts
    where project_id = ${from} and broadcast_id is not null`
  await database.run`
    update broadcasts b set status = 'done', finished_at = now() from posts p
    where p.project_id = ${from} and p.broadcast_id = b.id and b.project_id = ${from} and p.subject = 'Done'`

  const data = await claimAs(app, agent.claim_token, newAddress())
  const to = asProject(data.project_id)
  const all = (side: number[]) => ({ post: side, broadcast: side, delivery: side, link: side })
  assert.deepEqual(await placesOf([from, to], 'Draft'), { post: [0, 1] })
  assert.deepEqual(await placesOf([from, to], 'Done'), all([0, 1]))
  assert.deepEqual(await placesOf([from, to], 'Under way'), all([0, 1]))
  const human = speaking(app.url, data.credential)
  const { body: posts } = await human.get(`/lists/${list.id}/posts`)
  assert.deepEqual(posts.map((post: { subject: string }) => post.subject).sort(), ['Done', 'Draft', 'Under way'])
  assert.equal((await human.get(`/lists/${list.id}/posts/${draft.id}`)).body.needs_approval, true)
})
