import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newPost } from '../../../tests/support/posts.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newSentPost, recipientsOf, suppressionsOf } from '../../../tests/support/recipients.ts'
import { refusalAbout } from '../../../tests/support/reports.ts'
import { type PeerAction, type PeerCall, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'
import { followBounces } from './follow-bounces.ts'

let atRcpt: (call: PeerCall) => PeerAction | undefined = () => undefined
let atMail: (call: PeerCall) => PeerAction | undefined = () => undefined
const peer = await startSmtpPeer({ atRcpt: (call) => atRcpt(call) as PeerAction, atMail: (call) => atMail(call) as PeerAction })
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services

/** What servers say, and what it says of the address, whichever way it reaches us. */
const answers: [answer: string, means: 'hard' | 'soft' | 'policy'][] = [
  ['550 5.1.1 no such user', 'hard'],
  ['550 no such user here', 'hard'],
  ['550 sorry, no mailbox here by that name', 'hard'],
  ['550 5.0.0 User unknown', 'hard'],
  ['550-5.1.1 The email account that you tried\r\n550-5.1.1 to reach does not\r\n550 5.1.1 exist.', 'hard'],
  ['550-The email account that you tried to reach\r\n550 does not exist', 'hard'],
  ['550 5.2.1 mailbox disabled', 'hard'],
  ['552 5.2.2 over quota', 'soft'],
  ['552 the mailbox is full', 'soft'],
  ['550 no', 'soft'],
  // A number that condemns the address, or words that do, from servers that mean the sender.
  ['550 5.1.1 Client host blocked using zen.spamhaus.org', 'policy'],
  ['550 5.1.1 this message looks like spam', 'policy'],
  ['550 5.7.1 user unknown', 'policy'],
  ['550 recipient rejected, your IP address is blocked', 'policy'],
  ['553 5.1.8 sender address rejected', 'policy'],
]
const answerTo = (email: string): string => {
  const at = Number(/-(\d+)@/.exec(email)?.[1]) - 1
  return answers[at]?.[0] ?? assert.fail(email)
}
const expected = answers.map(([answer, means]) => [answer, means])

/** What has become of each address. */
async function consequences(project: TestProject, addresses: string[]): Promise<string[][]> {
  const suppressed = (await suppressionsOf(project)).map(([email]) => email)
  const soft = await database.many<{ email: string }>`
    select email from contacts where project_id = ${project.id} and soft_bounced_on <> '{}'
    union select to_address from emails where project_id = ${project.id} and is_soft_bounce`
  const meaning = (email: string) =>
    suppressed.includes(email) ? 'hard' : soft.some((row) => row.email === email) ? 'soft' : ('policy' as const)
  return addresses.map((email) => [answerTo(email), meaning(email)])
}

test('the same answer means the same for the address: at once to a post, at once to a single mail, and late by mail', async () => {
  atRcpt = ({ line }) => answerTo(line)
  const post = await newPost(app, { subscribers: answers.length })
  await post.project.post(`${post.path}/send`)
  await until('the end', async () => (await post.project.get(post.path)).body.status === 'sent')
  await until('all to be followed', async () => !(await isLeft(post.project)))
  const readers = (await recipientsOf(app, post.project, post.post.id)).map(({ email }) => email)
  assert.deepEqual(await consequences(post.project, readers), expected)

  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  const singles = answers.map((_, index) => `single-${index + 1}@example.org`)
  for (const to of singles)
    assert.equal((await project.post('/emails', { from: list.mailbox_address, to, subject: 'x', text: 'x' })).status, 502)
  assert.deepEqual(await consequences(project, singles), expected)
  atRcpt = () => undefined

  const late = await newSentPost(app, { subscribers: answers.length })
  for (const { email, tokens } of late.recipients) {
    const answer = answerTo(email)
    const status = /^\d{3}[ -]([\d.]+) /.exec(answer)?.[1] ?? '5.0.0'
    assert.equal(await refusalAbout(app, { email, token: tokens.return_path }, { status, answer }), 'bounce')
  }
  const people = late.recipients.map(({ email }) => email)
  assert.deepEqual(await consequences(late.project, people), expected)
})

test('people read why, not what the number said', async () => {
  atRcpt = () => '550 5.1.1 Client host blocked using zen.spamhaus.org'
  const { project, path } = await newPost(app, { subscribers: 1 })
  await project.post(`${path}/send`)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  atRcpt = () => undefined
  const [delivery] = (await project.get(`${path}/deliveries`)).body
  assert.deepEqual(
    [delivery.status, delivery.smtp_code, delivery.reason],
    ['bounced', 550, 'The receiving server does not take mail from this sender'],
  )
})

test('what is said to our own address says nothing of theirs', async () => {
  atMail = () => '550 5.1.1 no such user'
  const { project, path } = await newPost(app, { subscribers: 1 })
  await project.post(`${path}/send`)
  await until('the end', async () => (await project.get(path)).body.status === 'sent')
  await until('it to be followed', async () => !(await isLeft(project)))
  atMail = () => undefined
  assert.deepEqual(await suppressionsOf(project), [])
  assert.equal((await project.get(`${path}/deliveries`)).body[0].status, 'bounced')
})

test('a full mailbox that was tried again, and withdrawn then, does not count twice', async () => {
  const { project, path, first } = await newSentPost(app, { subscribers: 1 })
  await database.run`
    update deliveries set status = 'failed', smtp_code = 452, enhanced_code = '4.2.2', bounce_class = 'soft', settled_at = ${app.clock.now()}
    where project_id = ${project.id}`
  await database.run`update broadcasts set delivered = 0, failed = 1 where project_id = ${project.id}`
  await until('it to be followed', async () => !(await isLeft(project)))
  app.clock.advance(86_400_000)
  // Suppressed before its turn comes: nobody is asked, so nobody refused.
  await project.post('/suppressions', { email: first.email })
  assert.equal((await project.post(`${path}/deliveries/retry`)).status, 202)
  await until('it to be withdrawn', async () => /suppressed/.test((await project.get(`${path}/deliveries`)).body[0].reason))
  await followBounces(app.services)
  const contact = await database.first<{ days: number }>`
    select cardinality(soft_bounced_on) as days from contacts where project_id = ${project.id}`
  assert.equal(contact?.days, 1)
})

const isLeft = async (project: TestProject): Promise<boolean> =>
  (await database.first`
    select 1 from deliveries
    where project_id = ${project.id} and bounce_class is not null and status in ('bounced', 'failed') and followed_at is null`) !== null
