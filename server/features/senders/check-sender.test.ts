import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DnsName, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import {
  addRecords,
  hourMs,
  loseSender,
  minuteMs,
  newSenderList,
  runDue,
  type SenderList,
  setUp,
  verifySender,
} from '../../../tests/support/senders.ts'

const dns = await startDnsPeer({})
// The zones' own server, at the same port of another address of this machine.
const zone = await startDnsPeer({}, { host: '127.0.0.2', port: Number(dns.address.split(':')[1]) })
after(async () => {
  await dns.close()
  await zone.close()
})
const app = await startApp({ DNS_SERVERS: dns.address, ALLOW_PRIVATE_WEBHOOKS: 'true', ROLES: 'http' })
const { database } = app.services

/** What the owner was told, in order. */
const notices = async ({ project }: SenderList): Promise<string[]> => {
  const rows = await database.many<{ subject: string }>`
    select mail->>'subject' as subject from messages where kind = 'sender_domain' and recipient = ${project.email} order by id`
  return rows.map(({ subject }) => subject)
}
const foundOf = (info: { records: { found: boolean }[] }): boolean[] => info.records.map(({ found }) => found)
/** What events say of the list. */
const statusEvents = async ({ project }: SenderList): Promise<unknown[]> =>
  (await project.eventsWithData()).map(({ type, data }) => {
    const list = data.list as { sender_domain_status: string; warmup_status: string }
    return [type, list.sender_domain_status, list.warmup_status]
  })

test('from nothing to verified, record by record', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  await list.project.events()
  dns.names[list.domain] = {}
  const [rsa, ed, path, policy] = records as [never, never, never, never]
  const steps: [record: (typeof records)[number], found: boolean[], step: RegExp][] = [
    [
      rsa,
      [true, false, false, false],
      /^CNAME bounce\..* is not there yet\. One more record is not right yet, too\. Until then mail goes out from/,
    ],
    [path, [true, false, true, false], /^TXT _dmarc\..* is not there yet\. Until then/],
    [policy, [true, false, true, true], /^Nothing to do: mail goes out from hello@/],
    [ed, [true, true, true, true], /^Nothing to do/],
  ]
  const first = await list.check()
  assert.deepEqual([first.status, foundOf(first)], ['pending', [false, false, false, false]])
  assert.match(first.next_step, /^TXT ph\S+ is not there yet\. 2 more records are not right yet, too\./)
  assert.deepEqual(await list.project.events(), [])
  for (const [record, found, step] of steps) {
    addRecords(dns, list.domain, [record])
    const info = await list.check()
    assert.deepEqual(foundOf(info), found)
    assert.match(info.next_step, step)
    assert.deepEqual(info, await list.get())
  }
  assert.deepEqual(await statusEvents(list), [['list.updated', 'verified', 'warming']])
  assert.deepEqual(await notices(list), [`${list.domain} is verified`])
  const keys = await database.many<{
    status: string
  }>`select status from dkim_keys where project_id = ${list.project.id} order by algorithm`
  assert.deepEqual(
    keys.map(({ status }) => status),
    ['active', 'active'],
  )
  const { body } = await list.project.get(`/lists/${list.id}`)
  assert.deepEqual([body.sender_domain_status, body.warmup_status], ['verified', 'warming'])
})

test('the zone’s own servers are asked, and a fresh answer is given again', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  // The resolver has heard of nothing yet.
  dns.names[list.domain] = { NS: [`ns.${list.domain}`] }
  dns.names[`ns.${list.domain}`] = { A: ['127.0.0.2'] }
  addRecords(zone, list.domain, records)
  const info = await list.check()
  assert.deepEqual([info.status, foundOf(info)], ['verified', [true, true, true, true]])
  const asked = zone.asked.length
  assert.deepEqual((await list.project.post(`${list.path}/check`)).body, info)
  assert.equal(zone.asked.length, asked)
})

test('what the zone’s own servers say is no memory; what others still remember is told with the time it lasts', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  const [rsa, , path, policy] = records as [(typeof records)[number], never, (typeof records)[number], (typeof records)[number]]
  dns.names[`ns.${list.domain}`] = { A: ['127.0.0.2'] }
  dns.names[list.domain] = { NS: [`ns.${list.domain}`] }
  addRecords(zone, list.domain, records)
  zone.names[rsa.name] = { TXT: ['v=DKIM1; k=rsa; p=OTHER'], ttl: 86_400 }
  assert.match(
    (await list.check()).next_step,
    /has another key, “v=DKIM1; k=rsa; p=OTHER”\. Replace it with the value as it is given\. Until then/,
  )
  // Mended in the zone; others have the old key for a day, do not know yet of the CNAME, and know the policy.
  zone.names[rsa.name] = { TXT: [rsa.value] }
  dns.names[rsa.name] = { TXT: ['v=DKIM1; k=rsa; p=OTHER'], ttl: 86_400 }
  addRecords(dns, list.domain, [policy])
  const { status, next_step } = await list.check()
  assert.equal(status, 'verified')
  const [, until] =
    /^Nothing to do: mail goes out from \S+ Not everybody sees it yet: an old value of TXT \S+ may be remembered until (.+) UTC\. /.exec(
      next_step,
    ) ?? []
  const aheadMs = new Date(`${until?.replace(' ', 'T')}Z`).getTime() - app.clock.now().getTime()
  assert.ok(aheadMs > 23 * hourMs && aheadMs <= 24 * hourMs + minuteMs, next_step)
  assert.ok(
    next_step.endsWith(` Not everybody sees it yet: that there was no CNAME ${path.name} may be remembered for up to a few hours.`),
    next_step,
  )
  addRecords(dns, list.domain, records)
  assert.match((await list.check()).next_step, /^Nothing to do: mail goes out from \S+$/)
})

test('each required record, broken and healed: the owner hears of it, and a day without it is the end', async () => {
  const names = ['_domainkey', 'bounce', '_dmarc']
  for (const part of names) {
    const list = await newSenderList(app)
    const records = await verifySender(dns, list)
    await list.project.events()
    const { name } = records.find(
      (record) => record.name.includes(part) && !record.name.startsWith('ph') !== (part === '_domainkey'),
    ) as (typeof records)[number]
    const kept = dns.names[name] as DnsName
    delete dns.names[name]

    app.clock.advance(6 * hourMs)
    await runDue(app)
    const amiss = await list.get()
    assert.equal(amiss.status, 'verified', part)
    assert.match(amiss.next_step, /^Mail still goes out from .* is not there yet\. Mend it within a day/)
    assert.deepEqual(await list.project.events(), [], part)

    // Name servers that do not answer are no proof of anything.
    dns.names[name] = { fails: 'SERVFAIL' }
    app.clock.advance(25 * hourMs)
    await runDue(app)
    await runDue(app)
    assert.equal((await list.get()).status, 'verified', part)

    delete dns.names[name]
    for (let hour = 0; hour < 2; hour++) {
      app.clock.advance(hourMs)
      await runDue(app)
    }
    const lost = await list.get()
    assert.equal(lost.status, 'failed', part)
    assert.match(
      lost.next_step,
      /^The records of .* are gone\. .* is not there yet\. When you have mended it, ask for a check\. Until then posts wait/,
    )
    assert.deepEqual(await statusEvents(list), [['list.updated', 'failed', null]], part)

    dns.names[name] = kept
    app.clock.advance(minuteMs)
    await runDue(app)
    assert.equal((await list.get()).status, 'verified', part)
    assert.deepEqual(await statusEvents(list), [['list.updated', 'verified', 'warming']], part)
    assert.deepEqual(
      await notices(list),
      [
        `${list.domain} is verified`,
        `A DNS record of ${list.domain} is missing`,
        `${list.domain} cannot be used to send mail`,
        `${list.domain} is verified`,
      ],
      part,
    )
  }
})

test('72 hours without records end in failed; a check or a new set-up begins anew', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  await list.project.events()
  dns.names[list.domain] = {}
  for (const hours of [0, 1, 24, 46]) {
    app.clock.advance(hours * hourMs)
    await runDue(app)
    assert.equal((await list.get()).status, 'pending')
  }
  app.clock.advance(2 * hourMs)
  await runDue(app)
  const late = await list.get()
  assert.equal(late.status, 'failed')
  assert.match(
    late.next_step,
    /^Within 72 hours the records of .* were not found\. TXT .* is not there yet\..* Until then mail goes out from/,
  )
  assert.deepEqual(await statusEvents(list), [['list.updated', 'failed', null]])
  assert.equal((await list.check()).status, 'pending')
  assert.deepEqual(await statusEvents(list), [['list.updated', 'pending', null]])
  app.clock.advance(73 * hourMs)
  await runDue(app)
  assert.equal((await list.get()).status, 'failed')
  assert.deepEqual(
    (await setUp(list)).map(({ name }) => name),
    records.map(({ name }) => name),
  )
  assert.equal((await list.get()).status, 'pending')
  assert.deepEqual(await statusEvents(list), [
    ['list.updated', 'failed', null],
    ['list.updated', 'pending', null],
  ])
  addRecords(dns, list.domain, records)
  app.clock.advance(minuteMs)
  await runDue(app)
  assert.equal((await list.get()).status, 'verified')
})

test('a record that stands in the way is told at once, and ends in failed when it stays', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  addRecords(dns, list.domain, records)
  dns.names[`bounce.${list.domain}`] = { CNAME: 'bounces.other.test', ttl: 300 }
  const seen = await list.check()
  assert.equal(seen.status, 'pending')
  assert.match(
    seen.next_step,
    /points at “bounces\.other\.test”, and a name can have only one CNAME\. Change it to rp\.posthaste\.test.* up to 5 minutes\./,
  )
  app.clock.advance(6 * minuteMs)
  await runDue(app)
  assert.equal((await list.get()).status, 'failed')
  addRecords(dns, list.domain, records)
  app.clock.advance(minuteMs)
  await runDue(app)
  assert.equal((await list.get()).status, 'verified')
})

test('name servers that do not answer are told of, and what was found before stays found', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  addRecords(dns, list.domain, records.slice(0, 2))
  assert.deepEqual(foundOf(await list.check()), [true, true, false, false])
  for (const { name } of records) dns.names[name] = { fails: 'SERVFAIL' }
  const dark = await list.check()
  assert.deepEqual([dark.status, foundOf(dark)], ['pending', [true, true, false, false]])
  assert.match(dark.next_step, /^Nobody can say just now whether CNAME bounce\..* is there: the name server answered SERVFAIL/)
})

test('a failed domain goes when its list does, at its next turn', async () => {
  const list = await newSenderList(app)
  await setUp(list)
  await list.project.delete(`/lists/${list.id}`)
  app.clock.advance(minuteMs)
  await runDue(app)
  for (const rows of [
    await database.many`select 1 from sender_domains where project_id = ${list.project.id}`,
    await database.many`select 1 from dkim_keys where project_id = ${list.project.id}`,
  ])
    assert.equal(rows.length, 0)
})

test('whoever loses a domain to another project sends no posts until they have chosen another sender', async () => {
  const first = await newSenderList(app)
  const ours = await verifySender(dns, first)
  const second = await newSenderList(app, { domain: first.domain })
  const theirs = await setUp(second)
  await loseSender(app, dns, ours)
  assert.equal((await first.get()).status, 'failed')
  addRecords(dns, second.domain, theirs)
  assert.equal((await second.check()).status, 'verified')
  assert.match((await first.get()).next_step, /Until then posts wait/)
  const active = await database.many<{
    project_id: string
  }>`select project_id from dkim_keys where domain = ${first.domain} and status = 'active'`
  assert.deepEqual(new Set(active.map(({ project_id }) => project_id)), new Set([second.project.id]))
})
