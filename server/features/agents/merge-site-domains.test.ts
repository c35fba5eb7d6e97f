import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { claimAs, registerWriter } from '../../../tests/support/agents.ts'
import { startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { connectWith, newDomainList } from '../../../tests/support/site-domains.ts'
import { findSiteByHost } from '../site-domains/index.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http,sender' })
const { database } = app.services

test('a site’s domain comes along with its list and stays live; of two lists that want one, the one that has it does', async () => {
  const human = await app.newProject()
  const agent = await registerWriter(app)
  const theirs = await newDomainList(app, { project: agent.project })
  await connectWith(dns, theirs, theirs.naked)
  const mine = await newDomainList(app, { project: human })
  assert.equal((await mine.connect(theirs.naked)).status, 201)
  assert.equal((await theirs.check()).status, 'active')
  await claimAs(app, agent.claim_token, human.email)
  assert.equal(await findSiteByHost(database, theirs.naked), theirs.subdomain)
  const { status, body } = await human.get(theirs.path)
  assert.deepEqual([status, body.status, body.live_url], [200, 'active', `https://${theirs.naked}`])
  const left = await database.many`
    select 1 from site_domains where project_id = ${agent.project.id} union all select 1 from site_hosts where project_id = ${agent.project.id}`
  assert.equal(left.length, 0)
  // Its record has not changed, and is still the list's.
  app.clock.advance(6_000)
  assert.equal((await human.post(`${theirs.path}/check`)).body.status, 'active')
  const second = await mine.check()
  assert.deepEqual([second.status, second.live_url], ['pending', null])
  assert.equal((await mine.disconnect()).status, 204)
  assert.equal(await findSiteByHost(database, theirs.naked), theirs.subdomain)
})
