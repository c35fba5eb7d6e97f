import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isIssued, startDriven } from '../../../tests/support/certificates.ts'
import {
  addSiteRecords,
  connectNaked,
  type DomainList,
  newDomainList,
  ourAddresses,
  runDueSites,
} from '../../../tests/support/site-domains.ts'
import { until } from '../../../tests/support/until.ts'

const setup = await startDriven()
const { app, acme, dns, drive, node } = setup
const { database } = app.services
const dayMs = 24 * 60 * 60_000
const provedBy = async (domain: string) =>
  (await database.many<{ proved_by: string | null }>`select proved_by from site_domains where domain = ${domain}`).map(
    (row) => row.proved_by,
  )
const holdersOf = (host: string) => database.many`select 1 from site_hosts where host = ${host}`
const ordersOf = (host: string) => acme.orders.filter((one) => one.host === host)

/** A naked domain that was live, was disconnected, and still leads here; somebody else's list wants it. */
async function leaveDangling(): Promise<DomainList> {
  acme.settings.reuse = 'until deactivated'
  const owner = await newDomainList(app)
  addSiteRecords(dns, (await connectNaked(setup, owner)).records)
  await drive(owner.naked, isIssued)
  assert.equal((await owner.check()).status, 'active')
  assert.equal((await owner.disconnect()).status, 204)
  app.clock.advance(5 * dayMs)
  return { ...(await newDomainList(app)), naked: owner.naked }
}

test('a naked domain that was left behind is nobody’s until a TXT record of their own is there', async () => {
  const other = await leaveDangling()
  const { naked } = other
  const { records } = await connectNaked(setup, other)
  assert.deepEqual(
    records.map(({ type, name }: { type: string; name: string }) => `${type} ${name}`),
    [`ALIAS ${naked}`, `TXT _acme-challenge.${naked}`],
  )
  dns.names[records[0].value] = ourAddresses
  app.clock.advance(60_000)
  await node().step()
  await runDueSites(app)
  assert.equal((await other.check()).status, 'pending')
  assert.deepEqual([await provedBy(naked), await holdersOf(naked)], [[null], []])
  addSiteRecords(dns, records)
  await drive(naked, isIssued)
  assert.equal((await other.check()).status, 'active')
  assert.deepEqual(await provedBy(naked), ['certificate'])
})

test('where the authority asks for no proof, the owner is told a record of ours', async () => {
  const other = await leaveDangling()
  const { naked } = other
  acme.settings.reuse = 'always'
  const answered = other.connect(naked)
  await until('an order', () => database.first`select 1 from certificates where host = ${naked}`)
  await drive(naked, isIssued)
  assert.equal((await answered).status, 201)
  const { records } = await other.get()
  assert.deepEqual(
    records.map(({ type, name }: { type: string; name: string }) => `${type} ${name}`),
    [`ALIAS ${naked}`, `TXT _posthaste-verify.${naked}`],
  )
  dns.names[records[0].value] = ourAddresses
  await runDueSites(app)
  const open = await other.check()
  assert.equal(open.status, 'pending')
  assert.match(
    open.next_step,
    /^TXT _posthaste-verify\.\S+ is not there yet\. The certificate was had without a proof of whose the domain is: the TXT record shows that it is yours\. Until then/,
  )
  assert.deepEqual([await provedBy(naked), await holdersOf(naked)], [[null], []])
  addSiteRecords(dns, records)
  assert.equal((await other.check()).status, 'active')
  assert.deepEqual(await provedBy(naked), ['record'])
})

test('switching www off and on orders five certificates an hour at most', async () => {
  acme.settings.reuse = 'never'
  const list = await newDomainList(app)
  addSiteRecords(dns, (await connectNaked(setup, list, { www_enabled: true })).records)
  await drive(list.naked, isIssued)
  await list.check()
  const www = `www.${list.naked}`
  await drive(www, isIssued)
  const tending = node()
  for (let times = 0; times < 8; times++) {
    await list.connect(list.naked, { www_enabled: false })
    await list.connect(list.naked, { www_enabled: true })
    await list.check()
    for (let steps = 0; steps < 10; steps++) await tending.step()
  }
  assert.equal(ordersOf(www).length, 5)
  assert.equal((await list.get()).status, 'active')
  app.clock.advance(dayMs / 24)
  await drive(www, isIssued)
  assert.equal(ordersOf(www).length, 6)
})
