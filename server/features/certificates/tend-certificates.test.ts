import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AcmeFault, AcmeKind } from '../../../tests/support/acme-peer.ts'
import { createCertificateAuthority } from '../../../tests/support/certificate-authority.ts'
import { isIssued, order, rowOf, startDriven } from '../../../tests/support/certificates.ts'
import { makeCsr, newKey } from '../../acme/index.ts'
import { orderCertificate } from './index.ts'

const { app, acme, dns, target, node, drive } = await startDriven()
const { database, secrets } = app.services
const project = await app.newProject()
let count = 0

/** A host that leads here, and whose certificate is wanted. */
async function newHost(): Promise<string> {
  const host = `host${++count}.example.com`
  dns.names[host] = { CNAME: target }
  await order(app, { project_id: project.id, host, target, challenges: ['http-01'] })
  return host
}

test('each step is one question, and nothing is asked twice', async () => {
  const host = await newHost()
  const row = await drive(host, isIssued)
  assert.deepEqual(acme.asked, [
    'directory',
    'nonce',
    'account',
    'new order',
    'authorization',
    'challenge',
    'authorization',
    'finalize',
    'certificate',
  ])
  const { step, ordered, order_key, failures, troubles, problem, warnings } = row
  assert.deepEqual(
    { step, order_key, failures, troubles, problem, warnings },
    { step: 'idle', order_key: null, failures: 0, troubles: 0, problem: null, warnings: 0 },
  )
  // Kept for when the certificate is forgotten: its proof is given up then.
  assert.match(ordered?.authorization ?? '', /\/authorization\//)
  assert.deepEqual(await database.many`select 1 from acme_challenges where host = ${host}`, [])
})

test('the second order uses the account of the first', async () => {
  const before = acme.asked.length
  await drive(await newHost(), isIssued)
  assert.equal(acme.asked.slice(before).includes('account'), false)
  assert.equal(acme.accounts.size, 1)
})

test('no private key is readable in the database, at any step', async () => {
  const host = await newHost()
  const tending = node()
  for (let looks = 0; looks < 20 && !isIssued(await rowOf(app, host)); looks++) {
    await tending.step()
    for (const table of ['certificates', 'acme_accounts', 'acme_challenges']) {
      const { rows } = await database.execute(`select * from ${table}`)
      for (const value of rows.flatMap((row) => Object.values(row)))
        assert.doesNotMatch(Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value), /PRIVATE KEY/)
    }
  }
  const { private_key } = await rowOf(app, host)
  assert.match(secrets.open('certificate', host, private_key!), /^-----BEGIN PRIVATE KEY-----/)
  assert.throws(() => secrets.open('certificate', 'another.example.com', private_key!), 'it opens for its own host only')
})

test('a process that is killed before it has written down a step leaves one that another ends, with one order', async () => {
  for (let killedAt = 0; ; killedAt++) {
    const host = await newHost()
    const before = acme.orders.length
    const killed = node()
    for (let taken = 0; taken < killedAt; taken++) await killed.step()
    const saved = await database.first<{ row: object }>`select to_jsonb(c) as row from certificates c where host = ${host}`
    const challenges = await database.many<{ row: object }>`select to_jsonb(c) as row from acme_challenges c where host = ${host}`
    const { step } = await rowOf(app, host)
    if (isIssued(await rowOf(app, host))) break
    await killed.step()
    // As if the transaction of that step had not come to its commit: the authority has gone on, and we know nothing of it.
    await database.run`delete from certificates where host = ${host}`
    await database.run`insert into certificates select * from jsonb_populate_record(null::certificates, ${JSON.stringify(saved?.row)}::jsonb)`
    for (const { row } of challenges)
      await database.run`insert into acme_challenges select * from jsonb_populate_record(null::acme_challenges, ${JSON.stringify(row)}::jsonb)`
    await drive(host, isIssued)
    // Before the order is written down, nobody can know that it was placed.
    assert.equal(acme.orders.length - before, step === 'idle' ? 2 : 1, `killed at ${step}`)
    assert.equal((await rowOf(app, host)).failures, 0, `killed at ${step}`)
  }
})

test('what one process has in hand no other takes, until its lease is over by the clock of the database', async () => {
  const host = await newHost()
  await database.run`update certificates set lease_owner = gen_random_uuid(), leased_until = now() + interval '1 minute' where host = ${host}`
  assert.equal(await node().step(), false)
  await database.run`update certificates set leased_until = now() - interval '1 second' where host = ${host}`
  assert.equal(await node().step(), true)
  assert.equal((await rowOf(app, host)).step, 'ordered')
  await drive(host, isIssued)
})

test('two processes that order at the same time place one order for each host', async () => {
  const hosts = [await newHost(), await newHost(), await newHost()]
  const nodes = [node(), node()]
  for (let looks = 0; looks < 30; looks++) await Promise.all(nodes.map((one) => one.step()))
  for (const host of hosts) {
    assert.equal(isIssued(await rowOf(app, host)), true)
    assert.equal(acme.orders.filter((one) => one.host === host).length, 1)
  }
  assert.equal(acme.accounts.size, 1)
})

test('whatever goes wrong on the way to the authority is tried again, and counts against nobody', async () => {
  const faults: AcmeFault[] = [
    'drop',
    'lost',
    'garbage',
    'half',
    { status: 500, type: 'serverInternal' },
    { status: 503, type: 'serverInternal', retryAfter: '5' },
    { status: 400, type: 'badNonce' },
  ]
  const kinds: AcmeKind[] = ['new order', 'authorization', 'challenge', 'finalize', 'certificate']
  for (const kind of kinds)
    for (const fault of faults) {
      const host = await newHost()
      acme.faults = [{ kind, fault }]
      await drive(host, isIssued)
      const label = `${kind}: ${JSON.stringify(fault)}`
      assert.deepEqual(acme.faults, [], label)
      assert.equal((await rowOf(app, host)).failures, 0, label)
    }
})

test('an authority that has forgotten us and our orders is met anew', async () => {
  for (const step of ['ordered', 'proving', 'checking', 'finalizing', 'downloading']) {
    const host = await newHost()
    await drive(host, (row) => row.step === step)
    acme.forget()
    await drive(host, isIssued)
    assert.equal((await rowOf(app, host)).failures, 0, step)
  }
})

test('an authority that takes its time is asked again when it says so', async () => {
  acme.settings.pendingLooks = 3
  const host = await newHost()
  await drive(host, isIssued)
  acme.settings.pendingLooks = 1_000_000
  const slow = await newHost()
  await drive(slow, ({ step }) => step === 'checking')
  await node().step()
  app.clock.advance(31 * 60_000)
  const row = await drive(slow, ({ failures }) => failures === 1)
  assert.match(row.problem ?? '', /has been at the order for 30 minutes/)
  acme.settings.pendingLooks = 0
})

test('a certificate that is not what was ordered is never stored', async () => {
  const stranger = createCertificateAuthority('Somebody Else')
  const dates = { from: new Date(Date.now() - 1_000), until: new Date(Date.now() + 86_400_000) }
  for (const [what, issues] of Object.entries({
    'another key': (chain: string) => chain && stranger.issue(makeCsr(`host${count}.example.com`, newKey()), dates),
    'another host': (chain: string) => chain && stranger.issue(makeCsr('evil.example.com', newKey()), dates),
    nothing: () => '',
    'no certificate': () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
  })) {
    const host = await newHost()
    acme.settings.issues = issues
    const row = await drive(host, ({ troubles }) => troubles > 2)
    assert.deepEqual([row.chain, row.private_key], [null, null], what)
    assert.match(row.problem ?? '', /The certificate that came/, what)
    acme.settings.issues = null
    await database.run`delete from certificates where host = ${host}`
  }
})

test('with an order under way a host that passes to another project keeps it', async () => {
  const host = await newHost()
  await drive(host, ({ step }) => step === 'proving')
  const other = await app.newProject()
  await database.transaction((tx) =>
    orderCertificate(app.services, tx, { project_id: other.id, host, target, challenges: ['http-01', 'dns-01'] }),
  )
  const row = await drive(host, isIssued)
  assert.equal(row.project_id, other.id)
  assert.equal(acme.orders.filter((one) => one.host === host).length, 1)
})

test('an order whose TXT value the former project was told does not pass on', async () => {
  const host = `host${++count}.example.com`
  await order(app, { project_id: project.id, host, target, challenges: ['dns-01'] })
  const told = await drive(host, ({ step }) => step === 'proving')
  const other = await app.newProject()
  await order(app, { project_id: other.id, host, target, challenges: ['dns-01'] })
  const row = await drive(host, ({ step }) => step === 'proving')
  assert.equal(row.project_id, other.id)
  assert.notEqual(row.ordered?.dns?.value, told.ordered?.dns?.value)
})
