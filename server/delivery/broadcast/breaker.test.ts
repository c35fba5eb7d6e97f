import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp, type TestApp } from '../../../tests/support/posthaste.ts'
import { broadcastOf, newPost, postData } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { type BroadcastId, newId } from '../../base/ids.ts'
import { createLog } from '../../base/log.ts'
import type { Outcome } from '../transports/index.ts'
import { createBreaker } from './breaker.ts'
import type { Settled } from './settle.ts'

let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const quiet = await startApp({ ROLES: 'http,consumers' })

/** A post on its way to so many. */
async function sending(on: TestApp, readers: number) {
  const made = await newPost(on)
  const csv = Array.from({ length: readers }, (_, index) => `reader-${index}@example.org`).join('\n')
  const { project, list, path } = made
  await project.request('POST', `/lists/${list.id}/subscribers/import`, { body: csv, headers: { 'content-type': 'text/csv' } })
  await project.events()
  assert.equal((await project.post(`${path}/send`)).status, 202)
  return made
}

/** Three thousand mails, beside other tests on two cores. */
const unhurried = { withinMs: 60_000 }

test('too many bounces pause a broadcast, and its owner is told; resumed, it counts anew', async () => {
  atRcpt = ({ line }) => (/reader-\d*[02468]@/.test(line) ? '550 5.1.1 no such user' : { delayMs: 5 })
  const { project, post, list, path } = await sending(app, 3_000)
  const paused = await until(
    'the breaker',
    async () => {
      const broadcast = await broadcastOf(app, project, post.id)
      return broadcast?.status === 'paused' ? broadcast : null
    },
    unhurried,
  )
  assert.match(paused.reason ?? '', /^Paused by itself: \d+ of \d+ addresses refused it for good\. Clean the list before you go on\.$/)
  const data = await postData(project, list, post)
  // Each bounce is told in its own time as well.
  const told = (await project.eventsWithData()).filter(({ type }) => type.startsWith('post.'))
  assert.deepEqual(told, [
    { type: 'post.sent', data },
    { type: 'post.paused', data },
  ])
  await until(
    'the owner to be told',
    async () => app.services.database.first`select 1 from messages where recipient = ${project.email} and kind = 'post_paused'`,
  )
  atRcpt = () => undefined
  assert.equal((await project.post(`${path}/resume`)).status, 200)
  const done = await until(
    'the end',
    async () => {
      const { body } = await project.get(path)
      return body.status === 'sent' ? body : null
    },
    unhurried,
  )
  assert.ok(done.stats.bounced >= 5 && done.stats.bounced < 1_500, `${done.stats.bounced} bounced`)
  assert.equal(done.stats.delivered + done.stats.bounced, 3_000)
  assert.deepEqual(
    (await project.events()).filter((type) => type.startsWith('post.')),
    ['post.resumed', 'post.delivered'],
  )
})

/** What a breaker on a database without a sender makes of counts. */
async function tripOn(project: TestProject, counts: { delivered?: number; bounced?: number; failed?: number; complained?: number }) {
  const { database, clock } = quiet.services
  const { delivered = 0, bounced = 0, failed = 0, complained = 0 } = counts
  await database.run`
    update broadcasts set delivered = ${delivered}, bounced = ${bounced}, failed = ${failed}, complained = ${complained}
    where project_id = ${project.id}`
  await createBreaker({ database, clock, log: createLog('silent') }).look()
  const row = await database.first<{ tripped: string | null; status: string }>`
    select tripped, status from broadcasts where project_id = ${project.id}`
  return [row?.status, row?.tripped]
}

for (const [counts, tripped] of [
  [{ delivered: 95, bounced: 4 }, null],
  [{ delivered: 96, bounced: 4 }, null],
  [{ delivered: 95, bounced: 5 }, 'bounces'],
  [{ delivered: 90, bounced: 4, failed: 6 }, null],
  [{ delivered: 998, complained: 2 }, null],
  [{ delivered: 997, complained: 3 }, 'complaints'],
  [{ delivered: 90, complained: 9 }, null],
  [{ delivered: 99, complained: 1 }, null],
  [{ delivered: 98, complained: 2 }, null],
  [{ delivered: 97, complained: 3 }, 'complaints'],
] as const) {
  test(`${JSON.stringify(counts)}: ${tripped ?? 'goes on'}`, async () => {
    const { project } = await sending(quiet, 1)
    assert.deepEqual(await tripOn(project, counts), tripped ? ['paused', tripped] : ['sending', null])
    assert.deepEqual(await project.events(), tripped ? ['post.sent', 'post.paused'] : ['post.sent'])
  })
}

test('after a resume only what is new counts', async () => {
  const { project, path } = await sending(quiet, 1)
  assert.deepEqual(await tripOn(project, { delivered: 900, bounced: 100 }), ['paused', 'bounces'])
  await project.post(`${path}/resume`)
  assert.deepEqual(await tripOn(project, { delivered: 996, bounced: 103 }), ['sending', null])
  assert.deepEqual(await tripOn(project, { delivered: 995, bounced: 105 }), ['paused', 'bounces'])
})

test('a storm of deferrals pauses, unless somebody was reached, or it was short, or the reasons differ', async () => {
  const { database, clock } = quiet.services
  const deferred = (reason: string): Outcome => ({ kind: 'deferred', smtp_code: null, enhanced_code: null, reason, detail: '' })
  const delivered: Outcome = { kind: 'delivered', smtp_code: 250, response: '' }
  const away = deferred('Nothing answers at the relay')
  const cases: [name: string, before: Outcome[], after: Outcome[], status: string][] = [
    ['a storm', Array(30).fill(away), Array(20).fill(away), 'paused'],
    ['too few', Array(30).fill(away), Array(19).fill(away), 'sending'],
    ['too short', [], Array(80).fill(away), 'sending'],
    ['one was reached', Array(40).fill(away), [delivered, ...Array(40).fill(away)], 'sending'],
    ['another reason', Array(40).fill(away), Array(40).fill(deferred('The relay closed the connection')), 'sending'],
  ]
  for (const [name, before, after, status] of cases) {
    const { project, post } = await sending(quiet, 1)
    const row = await database.first<{ id: BroadcastId }>`select id from broadcasts where project_id = ${project.id}`
    const settled = (outcome: Outcome): Settled => ({
      delivery: { project_id: project.id, id: newId(), broadcast_id: row?.id as BroadcastId, attempts: 1 },
      outcome,
    })
    const breaker = createBreaker({ database, clock, log: createLog('silent') })
    breaker.watch(before.map(settled))
    quiet.clock.advance(60_000)
    breaker.watch(after.map(settled))
    await breaker.look()
    const broadcast = await broadcastOf(quiet, project, post.id)
    assert.equal(broadcast?.status, status, name)
    if (status === 'paused')
      assert.equal(
        broadcast?.reason,
        'Paused by itself: 50 in a row were put off and nobody got it for a minute. The last answer: Nothing answers at the relay.',
      )
    assert.deepEqual(await project.events(), status === 'paused' ? ['post.sent', 'post.paused'] : ['post.sent'], name)
  }
})
