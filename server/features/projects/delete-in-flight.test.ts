import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { importReaders, newPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type PeerAction, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { formatId } from '../../base/ids.ts'

/** A project, or a list, that is deleted while one of its posts is being sent. Leases are short: what was lost would come twice. */
let atMail: PeerAction | undefined
const peer = await startSmtpPeer({ atMail: () => atMail })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}?connections=2`, LEASE_SECONDS: '2' })
const { database } = app.services

/** More than a sender hands over at once. */
const readers = 400
const addressees = () => peer.messages.flatMap(({ to }) => to).filter((to) => to.startsWith('reader-'))

/** Some have it, some are on the wire, the rest is claimed or waits. */
async function postInFlight() {
  peer.messages.length = 0
  atMail = { delayMs: 10 }
  const made = await newPost(app)
  await importReaders(made.project, made.list.id, readers)
  assert.equal((await made.project.post(`${made.path}/send`)).status, 202)
  await until('some to have it', () => addressees().length > 3)
  return made
}

const rowsOf = async ({ id }: TestProject) =>
  (await database.first<{ count: number }>`
    select (select count(*) from broadcasts where project_id = ${id}) + (select count(*) from deliveries where project_id = ${id})
      + (select count(*) from broadcast_links where project_id = ${id}) + (select count(*) from posts where project_id = ${id}) as count`)!
    .count // always a row
const usedBy = async ({ id }: TestProject) =>
  (await database.first<{ used: number }>`select used from usage_periods where project_id = ${id}`)?.used

async function assertOver(project: TestProject): Promise<void> {
  await until('nothing of it to be left', async () => (await rowsOf(project)) === 0)
  const reached = addressees()
  assert.ok(reached.length < readers, `it was stopped: ${reached.length} have it`)
  assert.equal(new Set(reached).size, reached.length)
  assert.equal(await usedBy(project), reached.length)
  // The sender is well: the next post of somebody else goes out.
  atMail = undefined
  peer.messages.length = 0
  const other = await newPost(app, { subscribers: 2 })
  await other.project.post(`${other.path}/send`)
  await until('the next post to be sent', async () => (await other.project.get(other.path)).body.status === 'sent')
  assert.deepEqual(addressees().sort(), ['reader-1@example.org', 'reader-2@example.org'])
  assert.deepEqual(await other.project.events(), ['post.sent', 'post.delivered'])
}

test('a project that is deleted sends nothing more, and what it did not send counts for nobody', async () => {
  const { project } = await postInFlight()
  await project.events()
  assert.equal((await project.delete(`/api/projects/${formatId('prj', project.id)}`)).status, 204)
  await assertOver(project)
  assert.deepEqual(await project.events(), ['project.deleted'])
})

test('a list that is deleted sends nothing more, and what it did not send is given back', async () => {
  const { project, list } = await postInFlight()
  await project.events()
  assert.equal((await project.delete(`/lists/${list.id}`)).status, 204)
  await assertOver(project)
  assert.deepEqual(await project.events(), ['mailbox.deleted', 'list.deleted'])
})
