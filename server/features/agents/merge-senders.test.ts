import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { claimAs, registerWriter } from '../../../tests/support/agents.ts'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { newSenderList, setUp, verifySender } from '../../../tests/support/senders.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http,sender' })
const { database } = app.services

const keysOf = async (domain: string): Promise<string[]> => {
  const rows = await database.many<{ project_id: string; status: string }>`
    select project_id, status from dkim_keys where domain = ${domain} order by algorithm`
  return rows.map(({ project_id, status }) => `${project_id} ${status}`)
}

test('a verified domain comes along with its keys and its warm-up, and takes the place of one that is not', async () => {
  const human = await app.newProject()
  const agent = await registerWriter(app)
  const theirs = await newSenderList(app, { project: agent.project })
  const mine = await newSenderList(app, { project: human, domain: theirs.domain })
  await setUp(mine)
  const records = await verifySender(dns, theirs)
  await claimAs(app, agent.claim_token, human.email)
  for (const { path } of [theirs, mine]) {
    const { status, body } = await human.get(path)
    assert.deepEqual([status, body.status, body.records[0].name], [200, 'verified', records[0]?.name])
  }
  assert.deepEqual(await keysOf(theirs.domain), [`${human.id} active`, `${human.id} active`])
  const { body: list } = await human.get(`/lists/${theirs.id}`)
  assert.equal(list.warmup_status, 'warming')
})

test('a domain that both have is the human’s, unless only the agent has verified it', async () => {
  const human = await app.newProject()
  const agent = await registerWriter(app)
  const mine = await newSenderList(app, { project: human })
  const theirs = await newSenderList(app, { project: agent.project, domain: mine.domain })
  await setUp(theirs)
  const records = await verifySender(dns, mine)
  await claimAs(app, agent.claim_token, human.email)
  const { body } = await human.get(theirs.path)
  assert.deepEqual([body.status, body.records[0].name], ['verified', records[0]?.name])
  assert.deepEqual(await keysOf(mine.domain), [`${human.id} active`, `${human.id} active`])
  const left = await database.many`select 1 from sender_domains where project_id = ${agent.project.id}`
  assert.equal(left.length, 0)
})
