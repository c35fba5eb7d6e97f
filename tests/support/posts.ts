import assert from 'node:assert/strict'
import { formatId, type ListId, newId, parseId } from '../../server/base/ids.ts'
import type { Database } from '../../server/database/database.ts'
import type { TestApp } from './posthaste.ts'
import type { TestProject } from './project.ts'

/** A list with so many active subscribers, and nothing said of it yet. */
export async function newList(app: TestApp, { subscribers = 0, project }: { subscribers?: number; project?: TestProject } = {}) {
  const owner = project ?? (await app.newProject())
  const { status, body: list } = await owner.post('/lists', { name: 'News' })
  assert.equal(status, 201, JSON.stringify(list))
  for (let number = 1; number <= subscribers; number++) {
    const added = await owner.post(`/lists/${list.id}/subscribers`, {
      email: `reader-${number}@example.org`,
      name: `Reader ${number}`,
      verified: true,
    })
    assert.equal(added.status, 201)
  }
  await owner.events()
  return { project: owner, list, path: `/lists/${list.id}/posts` }
}

/** Many at once: reader-1@example.org and so on. */
export async function importReaders(project: TestProject, listId: string, count: number): Promise<void> {
  const body = `email,name\n${Array.from({ length: count }, (_, index) => `reader-${index + 1}@example.org,Reader ${index + 1}\n`).join('')}`
  const { status, body: result } = await project.request('POST', `/lists/${listId}/subscribers/import`, {
    body,
    headers: { 'content-type': 'text/csv' },
  })
  assert.equal(status, 201, JSON.stringify(result))
  await project.events()
}

export async function newPost(app: TestApp, options: { subscribers?: number; project?: TestProject; body?: object } = {}) {
  const made = await newList(app, options)
  const { status, body: post } = await made.project.post(made.path, { subject: 'Hello', body_html: '<p>Hi</p>', ...options.body })
  assert.equal(status, 201, JSON.stringify(post))
  await made.project.events()
  return { ...made, post, path: `${made.path}/${post.id}` }
}

/** What events say of a post that is as it was when they were told. */
export async function postData(project: TestProject, list: { id: string }, post: { id: string }) {
  const listed = (await project.get(`/lists/${list.id}/posts`)).body.find(({ id }: { id: string }) => id === post.id)
  return { post_id: post.id, list_id: list.id, subject: listed?.subject, post: listed }
}

/**
 * A post whose broadcast is in flight and stays there: its one delivery was deferred and is due in a day. The engine has nothing to do
 * with it until somebody pauses, resumes or aborts it.
 */
export async function addPostInFlight(
  database: Database,
  { project_id, listId, status }: { project_id: string; listId: string; status: 'sending' | 'paused' },
): Promise<string> {
  const list_id = parseId('lst', listId) as ListId
  const [post_id, broadcast_id] = [newId<'post'>(), newId<'brd'>()]
  // At once: a sender that saw a broadcast without its delivery would call it done.
  await database.transaction(async (tx) => {
    await tx.run`
      insert into posts (project_id, list_id, id, subject, body_html, broadcast_id, created_at, updated_at)
      values (${project_id}, ${list_id}, ${post_id}, 'In flight', '<p>Hi</p>', ${broadcast_id}, now(), now())`
    await tx.run`
      insert into broadcasts (project_id, id, list_id, post_id, status, source, recipients, is_expanded, created_at)
      values (${project_id}, ${broadcast_id}, ${list_id}, ${post_id}, ${status}, '{"post": {"subject": "In flight"}}', 3, true, now())`
    await tx.run`
      insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, next_attempt_at)
      values (${project_id}, ${newId()}, ${broadcast_id}, ${newId()}, ${newId()}, 'deferred@example.org', now() + interval '1 day')`
  })
  return formatId('post', post_id)
}

/** The newest broadcast of a post, as the engine has it. */
export const broadcastOf = (app: TestApp, project: TestProject, postId: string) =>
  app.services.database.first<{
    status: string
    reason: string | null
    recipients: number
    source: { post: object; frame: Record<string, unknown> }
  }>`
    select status, reason, recipients, source from broadcasts where project_id = ${project.id} and post_id = ${parseId('post', postId)} order by id desc limit 1`

/**
 * A post that was sent, booked as ever, and what became of it for each subscriber in turn. No sender has touched it: the ledger says
 * what the test says.
 */
export async function newSentPost(app: TestApp, statuses: string[], options: { project?: TestProject } = {}) {
  const { database } = app.services
  const made = await newPost(app, { ...options, subscribers: statuses.length })
  assert.equal((await made.project.post(`${made.path}/send`)).status, 202)
  await made.project.events()
  const post_id = parseId('post', made.post.id)
  await database.run`
    insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, name, status, attempts, next_attempt_at, smtp_code,
      enhanced_code, reason, sent_at, settled_at)
    select s.project_id, gen_random_uuid(), b.id, s.id, s.contact_id, s.email, s.name, o.status, 1, now(),
      case o.status when 'delivered' then 250 when 'queued' then null else 550 end, case o.status when 'bounced' then '5.1.1' end,
      case o.status when 'bounced' then 'The mailbox does not exist' end, case o.status when 'delivered' then now() end,
      case when o.status <> 'queued' then now() end
    from broadcasts b
    join (select *, row_number() over (order by id) as number from subscribers where project_id = ${made.project.id} and list_id = ${parseId('lst', made.list.id)}) s
      on s.project_id = b.project_id
    join unnest(${statuses}::text[]) with ordinality as o (status, number) on o.number = s.number
    where b.project_id = ${made.project.id} and b.post_id = ${post_id}`
  const count = (status: string) => statuses.filter((one) => one === status).length
  await database.run`
    update broadcasts set status = 'done', is_expanded = true, finished_at = now(), delivered = ${count('delivered')}, bounced = ${count('bounced')},
      failed = ${count('failed')} where project_id = ${made.project.id} and post_id = ${post_id}`
  await database.run`update posts set status = 'sent', sent_at = now() where project_id = ${made.project.id} and id = ${post_id}`
  return made
}
