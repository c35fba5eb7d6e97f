import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProject, asUser, claimAs, eventsIn, registerAnonymous } from '../../../tests/support/agents.ts'
import { fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addPostInFlight, broadcastOf, newPost } from '../../../tests/support/posts.ts'
import { speaking, type TestProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor } from '../../../tests/support/visitor.ts'
import { newPerson } from '../../../tests/support/waitlists.ts'
import { parseId } from '../../base/ids.ts'
import { enqueueMessage } from '../../delivery/enqueue.ts'
import { sendDuePosts } from '../posts/index.ts'
import { holdPosts, letPostsGo } from '../senders/hold-posts.ts'

/** The kill switch: what an agent has set going stops with it. Scheduled posts are looked at only when a test says so. */
const app = await startApp({ ROLES: 'http,sender,consumers' })
const { database } = app.services
const hour = 3_600_000

/** A human and an agent of theirs that may send, with its project. */
async function linkedSender() {
  const human = await app.newProject()
  const agent = await registerAnonymous(app)
  const { credential } = await claimAs(app, agent.claim_token, (await human.get('/api/me')).body.user.email, true)
  const path = `/api/agents/${agent.user_id}`
  assert.equal((await human.patch(path, { send: true })).status, 200)
  const project = { ...speaking(app.url, credential), id: asProject(agent.project_id), events: async () => [] as string[] } as TestProject
  await until('the key may send', async () => (await project.get('/api/me')).body.scopes.includes('send'))
  const turn = async (status: 'disabled' | 'active') => assert.equal((await human.patch(path, { status })).body.status, status)
  const keyWorks = () => until('the key works', async () => (await project.get('/lists')).status === 200)
  return { human, agent, project, turn, keyWorks }
}

const postEvents = async (project_id: string) =>
  (await eventsIn(app, project_id)).filter((type) => /^post\.(sent|paused|resumed)$/.test(type))

test('a scheduled post of an agent that is switched off is not due; switched on, it goes out as what is overdue does', async () => {
  const { agent, project, turn, keyWorks } = await linkedSender()
  const [theirs, others] = [await newPost(app, { subscribers: 1, project }), await newPost(app, { subscribers: 1 })]
  const scheduled_at = new Date(app.clock.now().getTime() + hour).toISOString()
  for (const { project, path } of [theirs, others]) assert.equal((await project.post(`${path}/schedule`, { scheduled_at })).status, 200)
  await turn('disabled')
  app.clock.advance(2 * hour)
  await sendDuePosts(app.services)
  assert.equal((await broadcastOf(app, others.project, others.post.id))?.recipients, 1)
  assert.equal(await broadcastOf(app, project, theirs.post.id), null)
  assert.deepEqual(await postEvents(agent.project_id), [])
  await turn('active')
  await sendDuePosts(app.services)
  assert.equal((await broadcastOf(app, project, theirs.post.id))?.recipients, 1)
  assert.deepEqual(await postEvents(agent.project_id), ['post.sent'])
  await keyWorks()
  await until('the post to be sent', async () => (await project.get(theirs.path)).body.status === 'sent')
})

test('one that came due in the moment before is not begun after it', async () => {
  const { project, agent } = await linkedSender()
  const { path, post } = await newPost(app, { subscribers: 1, project })
  const scheduled_at = new Date(app.clock.now().getTime() + hour).toISOString()
  assert.equal((await project.post(`${path}/schedule`, { scheduled_at })).status, 200)
  app.clock.advance(2 * hour)
  await database.transaction(async (tx) => {
    await tx.run`update users set disabled_at = now() where id = ${asUser(agent.user_id)}`
    await sendDuePosts(app.services)
  })
  await sendDuePosts(app.services)
  assert.equal(await broadcastOf(app, project, post.id), null)
})

test('posts on their way are paused, and say why; switched on they stay so until somebody resumes them', async () => {
  const { agent, project, turn, keyWorks } = await linkedSender()
  const { body: list } = await project.post('/lists', { name: 'News' })
  const other = await app.newProject()
  const { body: otherList } = await other.post('/lists', { name: 'News' })
  const flying = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  const waiting = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'paused' })
  const unconcerned = await addPostInFlight(database, { project_id: other.id, listId: otherList.id, status: 'sending' })
  const lost = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'sending' })
  const from = { project_id: project.id, domain: 'lost.example' }
  await database.run`update broadcasts set from_domain = ${from.domain} where project_id = ${project.id} and post_id = ${parseId('post', lost)}`
  await database.transaction((tx) => holdPosts(tx, from))
  await turn('disabled')
  await database.transaction((tx) => letPostsGo(tx, from))
  assert.equal((await broadcastOf(app, project, lost))?.status, 'paused', 'its domain is back, and it does not go on by itself')
  const paused = await broadcastOf(app, project, flying)
  assert.equal(paused?.status, 'paused')
  assert.match(paused?.reason ?? '', /the agent that this project belongs to was switched off\. It goes on when somebody resumes it/)
  assert.equal((await broadcastOf(app, project, waiting))?.reason, null)
  assert.equal((await broadcastOf(app, other, unconcerned))?.status, 'sending')
  assert.deepEqual(await postEvents(agent.project_id), ['post.paused', 'post.paused'], 'each was told of once')
  await turn('active')
  assert.equal((await broadcastOf(app, project, flying))?.status, 'paused')
  assert.deepEqual(await postEvents(agent.project_id), ['post.paused', 'post.paused'])
  await keyWorks()
  assert.equal((await project.post(`/lists/${list.id}/posts/${flying}/resume`)).status, 200)
  assert.equal((await broadcastOf(app, project, flying))?.status, 'sending')
})

test('single mail and what proxy mailboxes pass on is held back with a reason, and goes out when the agent is switched on', async () => {
  const { project, turn } = await linkedSender()
  const { body: proxy } = await project.post('/mailboxes', { type: 'proxy', config: { forward_to: 'owner@home.example' } })
  await turn('disabled')
  const [held, free] = [newPerson('held'), newPerson('free')]
  const mail = { from: { name: null, address: proxy.address }, reply_to: null, subject: 'A notice', text: 'x', html: null, headers: {} }
  const bystander = await app.newProject()
  await database.transaction(async (tx) => {
    await enqueueMessage(tx, { project_id: project.id, kind: 'notice', mail: { ...mail, to: held } })
    await enqueueMessage(tx, { project_id: bystander.id, kind: 'notice', mail: { ...mail, to: free } })
  })
  await fileMail(app, { recipients: [proxy.address], from: 'ann@example.org', subject: 'Pass me on' })
  const messages = () => database.many<{ kind: string; status: string; reason: string | null }>`
    select kind, status, reason from messages where project_id = ${project.id} order by kind`
  await until('both to be held', async () => (await messages()).every(({ reason }) => reason !== null))
  const reason = 'Held back: the agent that this project belongs to is switched off'
  assert.deepEqual(await messages(), [
    { kind: 'forward', status: 'queued', reason },
    { kind: 'notice', status: 'queued', reason },
  ])
  await until('mail of others to be out', async () => (await capturedFor(app, free)).length === 1)
  assert.deepEqual(await capturedFor(app, held), [])
  await turn('active')
  await until('both to be out', async () => (await messages()).every(({ status }) => status === 'delivered'))
  assert.equal((await capturedFor(app, held)).length, 1)
})

test('what waited too long for the switch has failed, and says why', async () => {
  const { project, turn } = await linkedSender()
  await turn('disabled')
  const mail = { from: { name: null, address: 'a@posthaste.test' }, reply_to: null, subject: 'x', text: 'x', html: null, headers: {} }
  await database.transaction(async (tx) => {
    const id = await enqueueMessage(tx, { project_id: project.id, kind: 'notice', mail: { ...mail, to: newPerson('late') } })
    await tx.run`update messages set attempts = 9 where project_id = ${project.id} and id = ${id}`
  })
  const settled = await until(
    'it to be given up',
    () => database.first`select status, reason from messages where project_id = ${project.id} and settled_at is not null`,
  )
  assert.deepEqual(settled, { status: 'failed', reason: 'Held back: the agent that this project belongs to is switched off' })
})

test('a request of the agent that is under way while it is switched off begins nothing', async () => {
  const { agent, project } = await linkedSender()
  const { path, post } = await newPost(app, { subscribers: 1, project })
  const { path: sent, list } = await newPost(app, { subscribers: 1, project })
  await project.post(`${sent}/send`)
  await until('it to be sent', async () => (await project.get(sent)).body.status === 'sent')
  await database.run`update deliveries set status = 'failed' where project_id = ${project.id}`
  const flying = await addPostInFlight(database, { project_id: project.id, listId: list.id, status: 'paused' })
  const user_id = asUser(agent.user_id)
  let asked = Promise.resolve<{ status: number; body: { error?: { code: string } } }[]>([])
  await database.transaction(async (tx) => {
    await tx.run`update users set disabled_at = now() where id = ${user_id}`
    const paths = [`${path}/send`, `${sent}/deliveries/retry`, `/lists/${list.id}/posts/${flying}/resume`]
    let settled = 0
    asked = Promise.all(paths.map((one) => project.post(one).finally(() => settled++)))
    // Each has its answer too early, or waits for this.
    await until('all to be that far', async () => {
      const { rows } = await database.execute(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from users%for share%'`,
      )
      return rows.length + settled === paths.length
    })
  })
  assert.deepEqual(
    (await asked).map(({ status, body }) => [status, body.error?.code]),
    [401, 401, 401].map((status) => [status, 'unauthorized']),
  )
  assert.equal(await broadcastOf(app, project, post.id), null)
  assert.equal((await broadcastOf(app, project, flying))?.status, 'paused')
})
