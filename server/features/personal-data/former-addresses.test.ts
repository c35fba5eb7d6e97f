import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileMail } from '../../../tests/support/inbound.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'
import { newReader, preferencesPath } from '../../../tests/support/readers.ts'
import { until } from '../../../tests/support/until.ts'
import { capturedFor } from '../../../tests/support/visitor.ts'
import { linkFor, newPerson } from '../../../tests/support/waitlists.ts'
import { newId } from '../../base/ids.ts'
import { moveRest } from '../agents/move-rest.ts'
import { eraseTraces } from './erase-traces.ts'

/** People who have changed their address: what they may ask for is about all that they had. */
const app = await startApp()
const { database } = app.services

type Reader = Awaited<ReturnType<typeof newReader>>

const linkIn = async (email: string, kind: string) => (await linkFor(app, email, kind)).replace(app.url, '')

/** Both mailboxes say yes; what follows from it by mail is out. */
async function move({ project, news, subscribers, visitor }: Reader, from: string, to: string): Promise<void> {
  const path = await preferencesPath(app, { project, list: news, subscriber: subscribers[0] as { id: string } })
  assert.equal((await visitor.post(`${path}/address`, { email: to })).status, 200)
  assert.equal((await visitor.post(await linkIn(from, '/preferences/agree/'))).status, 200)
  assert.match((await visitor.post(await linkIn(to, '/preferences/address/'))).html, /That is done/)
  await until('the old mailbox to hear of it', async () =>
    (await capturedFor(app, from)).some(({ subject }) => /goes to another address/.test(subject ?? '')),
  )
}

/** All that somebody can leave behind under one address. */
async function live({ project, news }: Pick<Reader, 'project' | 'news'>, email: string): Promise<void> {
  const { body: desk } = await project.post('/mailboxes', { name: 'Desk' })
  const { body: proxy } = await project.post('/mailboxes', { type: 'proxy', config: { forward_to: 'owner@home.example' } })
  const { mailbox_address } = (await project.get(`/lists/${news.id}`)).body
  await project.post('/emails', { from: desk.address, to: email, subject: `To ${email}`, text: `Hello ${email}` })
  for (const box of [desk.address, proxy.address, mailbox_address])
    await fileMail(app, { recipients: [box], from: `R <${email}>`, subject: `From ${email}`, text: `I am ${email}` })
  await fileMail(app, { recipients: [desk.address], from: email, subject: 'Away', headers: ['Auto-Submitted: auto-replied'] })
  const { body: post } = await project.post(`/lists/${news.id}/posts`, { subject: 'Hello', body_text: 'Hi' })
  await project.post(`/lists/${news.id}/posts/${post.id}/test`, { to: [email] })
  await project.post(`/lists/${news.id}/posts/${post.id}/send`)
  await until('the post to be sent', async () => (await project.get(`/lists/${news.id}/posts/${post.id}`)).body.status === 'sent')
}

/** Where an address is, in whatever table. What the outgoing server was given is outside. */
async function tracesOf(addresses: string[]): Promise<string[]> {
  const { rows: tables } = await database.execute(
    `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
     where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema') and table_name <> 'captured_messages'`,
  )
  const traces: string[] = []
  for (const { name } of tables) {
    const { rows } = await database.execute(`select t::text as row from ${name} t where t::text ilike any($1)`, [
      addresses.map((address) => `%${address}%`),
    ])
    traces.push(...rows.map(({ row }) => `${name}: ${row}`))
  }
  return traces
}

const contactOf = async (project: TestProject, email: string): Promise<{ id: string }> =>
  (await project.get(`/contacts?search=${encodeURIComponent(email)}`)).body[0]

async function erase(project: TestProject, email: string): Promise<void> {
  await until('the mail to be out', async () => {
    const open = await database.many`select 1 from messages where project_id = ${project.id} and status in ('queued', 'sending')`
    return open.length === 0
  })
  assert.equal((await project.delete(`/contacts/${(await contactOf(project, email)).id}`)).status, 204)
  await until(
    'the traces to be gone',
    async () => (await database.many`select 1 from erasures where project_id = ${project.id}`).length === 0,
  )
}

const suppressions = async (project: TestProject): Promise<(string | null)[]> =>
  (await project.get('/suppressions')).body.map(({ reason }: { reason: string }) => reason)

const subscribe = ({ project, news }: Pick<Reader, 'project' | 'news'>, email: string) =>
  project.post(`/lists/${news.id}/subscribers`, { email, verified: true })

test('who has changed their address twice is erased under all three, from every table, and none is added again by mistake', async () => {
  const addresses = [newPerson('first'), newPerson('second'), newPerson('third')] as [string, string, string]
  const reader = await newReader(app, addresses[0])
  const { project, news } = reader
  await live(reader, addresses[0])
  await move(reader, addresses[0], addresses[1])
  await live(reader, addresses[1])
  await move(reader, addresses[1], addresses[2])
  await live(reader, addresses[2])
  // The feed has heard of all that.
  assert.match(JSON.stringify((await project.get(`/lists/${news.id}/activity`)).body), new RegExp(addresses[0]))

  const { body } = await project.get(`/contacts/${(await contactOf(project, addresses[2])).id}/export`)
  assert.deepEqual(
    body.former_addresses.map(({ email }: { email: string }) => email),
    addresses.slice(0, 2),
  )
  const sent = body.emails.flatMap(({ direction, to_address }: Record<string, string>) => (direction === 'outbound' ? to_address : []))
  assert.deepEqual(sent.sort(), [...addresses].sort())
  const away = body.emails.filter(({ subject }: { subject: string }) => subject === 'Away')
  assert.deepEqual(away.map((email: { from_address: string }) => email.from_address).sort(), [...addresses].sort())
  const recipients = new Set(body.messages.map(({ recipient }: { recipient: string }) => recipient))
  assert.deepEqual([...recipients].sort(), [...addresses].sort())
  for (const address of addresses) assert.match(JSON.stringify(body.events), new RegExp(`"to":"${address}"`))

  await erase(project, addresses[2])
  assert.deepEqual(await tracesOf(addresses), [])
  assert.deepEqual(await suppressions(project), ['erased', 'erased', 'erased'])
  for (const address of addresses) assert.equal((await subscribe(reader, address)).status, 422)
})

test('who goes back to an address that they had is one person with one former address', async () => {
  const [one, two] = [newPerson('there'), newPerson('back')]
  const reader = await newReader(app, one)
  await move(reader, one, two)
  await move(reader, two, one)
  const former = await database.many`select email from former_addresses where project_id = ${reader.project.id}`
  assert.deepEqual(former, [{ email: two }])
  await erase(reader.project, one)
  assert.deepEqual(await tracesOf([one, two]), [])
})

test('an address that somebody else has by now is theirs: the one before is erased without them, and they with all of it', async () => {
  const [old, next] = [newPerson('old'), newPerson('next')]
  const reader = await newReader(app, old)
  const { project } = reader
  await move(reader, old, next)
  assert.equal((await subscribe(reader, old)).status, 201)
  const { body: desk } = await project.post('/mailboxes', { name: 'Desk' })
  await project.post('/emails', { from: desk.address, to: old, subject: 'To the second', text: 'Hello' })
  await erase(project, next)
  assert.deepEqual(await tracesOf([next]), [])
  assert.equal((await project.get(`/mailboxes/${desk.id}/emails`)).body.length, 1)
  assert.deepEqual(await suppressions(project), ['erased'])
  assert.equal((await contactOf(project, old)) !== undefined, true)
  assert.equal((await database.many`select 1 from former_addresses where project_id = ${project.id}`).length, 0)
  await erase(project, old)
  assert.deepEqual(await tracesOf([old]), [])
})

test('that others had an address before goes with whoever is erased under it', async () => {
  const [old, next] = [newPerson('old'), newPerson('next')]
  const reader = await newReader(app, old)
  await move(reader, old, next)
  assert.equal((await subscribe(reader, old)).status, 201)
  await erase(reader.project, old)
  assert.deepEqual(await tracesOf([old]), [])
  assert.equal((await contactOf(reader.project, next)) !== undefined, true)
})

test('two projects become one: the former addresses of both contacts are those of the one that is left', async () => {
  const [mine, theirs, now] = [newPerson('mine'), newPerson('theirs'), newPerson('now')]
  const [human, agent] = [await newReader(app, mine), await newReader(app, theirs)]
  await live(human, mine)
  await live(agent, theirs)
  await move(human, mine, now)
  await move(agent, theirs, now)
  await until('the mail to be out', async () => {
    const open = await database.many`select 1 from messages where project_id = ${agent.project.id} and status in ('queued', 'sending')`
    return open.length === 0
  })
  await database.run`
    insert into agent_registrations (id, kind, project_id, merged_into, claim_token_hash, claim_expires_at, claimed_at, mode, ip, created_at)
    values (${newId()}, 'anonymous', ${agent.project.id}, ${human.project.id}, ${Buffer.from(newId())}, now(), now(), 'merge', '192.0.2.1', now())`
  await moveRest.run(app.services, { from: agent.project.id, to: human.project.id })
  const { body } = await human.project.get(`/contacts/${(await contactOf(human.project, now)).id}/export`)
  assert.deepEqual(
    body.former_addresses.map(({ email }: { email: string }) => email),
    [mine, theirs],
  )
  await erase(human.project, now)
  assert.deepEqual(await tracesOf([mine, theirs, now]), [])
  assert.deepEqual(await suppressions(human.project), ['erased', 'erased', 'erased'])
})

test('those of a person whom the release before has erased are gone by the next morning', async () => {
  const person = newPerson('stray')
  const { project } = await newReader(app, newPerson('kept'))
  await database.run`
    insert into former_addresses (project_id, email_key, contact_id, email, left_at) values (${project.id}, ${person}, ${newId()}, ${person}, now())`
  await eraseTraces.run(app.services, {})
  assert.deepEqual(await tracesOf([person]), [])
})
