import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type DnsName, startDnsPeer } from '../../../tests/support/dns-peer.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { addRecords, newSenderList, setUp, verifySender } from '../../../tests/support/senders.ts'

const dns = await startDnsPeer({})
after(() => dns.close())
const app = await startApp({ DNS_SERVERS: dns.address, ROLES: 'http' })
const { database } = app.services

test('a list begins with the default sender', async () => {
  const list = await newSenderList(app)
  const { body } = await list.project.get(`/lists/${list.id}`)
  assert.deepEqual(await list.get(), {
    type: 'tinysend',
    from_address: body.mailbox_address,
    status: 'default',
    records: [],
    next_step: 'Nothing to do. To send from a domain of your own, set the type custom_domain with a name, an address and the domain.',
  })
  assert.deepEqual(await list.check(), await list.get())
  assert.deepEqual(
    [body.sender_name, body.sender_email, body.sender_domain, body.sender_domain_status, body.warmup_status],
    [null, body.mailbox_address, null, null, null],
  )
})

test('a domain answers its records in the order in which to add them, and the list says what it is waiting for', async () => {
  const list = await newSenderList(app)
  await list.project.events()
  const answer = await list.put({ type: 'custom_domain', name: ' Ann ', email: 'Hello', domain: 'NEWS.Bücher.example.' })
  assert.equal(answer.status, 200)
  const { records, ...info } = answer.body
  const domain = 'news.xn--bcher-kva.example'
  const { body: detail } = await list.project.get(`/lists/${list.id}`)
  assert.deepEqual(info, {
    type: 'custom_domain',
    from_address: `Hello@${domain}`,
    status: 'pending',
    next_step: `Add the records below to the DNS of ${domain}, where you registered it or keep its name servers. They are looked for every minute. Until then mail goes out from ${detail.mailbox_address}, and answers to it go to Hello@${domain}.`,
  })
  assert.deepEqual(
    records.map(({ type, name, value, found }: Record<string, string>) => [
      type,
      name?.replace(/^ph\d{8}/, 'ph'),
      value?.replace(/p=\S{20,}$/, 'p=…'),
      found,
    ]),
    [
      ['TXT', `phr-${list.project.id.slice(-6)}._domainkey.${domain}`, 'v=DKIM1; k=rsa; p=…', false],
      ['TXT', `phe-${list.project.id.slice(-6)}._domainkey.${domain}`, 'v=DKIM1; k=ed25519; p=…', false],
      ['CNAME', `bounce.${domain}`, 'rp.posthaste.test', false],
      ['TXT', `_dmarc.${domain}`, 'v=DMARC1; p=none;', false],
    ],
  )
  for (const { purpose } of records) assert.match(purpose, /^[A-Z].*\.$/)
  assert.deepEqual(
    [detail.sender_name, detail.sender_email, detail.sender_domain, detail.sender_domain_status, detail.warmup_status],
    ['Ann', `Hello@${domain}`, domain, 'pending', null],
  )
  const events = await list.project.eventsWithData()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['list.updated'],
  )
  assert.deepEqual(events[0]?.data.list, JSON.parse(JSON.stringify(detail)))
  assert.deepEqual((await list.project.get('/lists')).body[0].sender_domain_status, 'pending')
  // Keys are sealed.
  const keys = await database.many<{ private_key: Buffer }>`select private_key from dkim_keys where project_id = ${list.project.id}`
  assert.equal(keys.length, 2)
  for (const { private_key } of keys) assert.doesNotMatch(private_key.toString('latin1'), /PRIVATE KEY/)
})

test('the same again changes nothing, and another name or address only that', async () => {
  const list = await newSenderList(app)
  const records = await setUp(list)
  await list.project.events()
  assert.deepEqual(await setUp(list), records)
  assert.deepEqual(await list.project.events(), [])
  const { body } = await list.put({ type: 'custom_domain', name: 'Ben', email: 'ben', domain: list.domain })
  assert.deepEqual([body.from_address, body.records], [`ben@${list.domain}`, records])
  assert.deepEqual(await list.project.events(), ['list.updated'])
})

test('what is no sender is refused, and changes nothing', async () => {
  const list = await newSenderList(app)
  const good = { type: 'custom_domain', name: 'Ann', email: 'hello', domain: 'example.com' }
  await list.project.events()
  const cases: [object, RegExp][] = [
    [{}, /^type: /],
    [{ type: 'smtp' }, /^type: /],
    [{ type: 'external_mailbox' }, /^type: external_mailbox is coming soon/],
    [{ ...good, name: undefined }, /^name: is required/],
    [{ ...good, email: undefined }, /^email: is required/],
    [{ ...good, domain: undefined }, /^domain: is required/],
    [{ ...good, name: '' }, /^name: /],
    [{ ...good, name: 'Ann\nBcc: x' }, /^name: must be one line/],
    [{ ...good, email: 'hello@example.com' }, /^email: must be the part before the @ alone/],
    [{ ...good, email: 'he llo' }, /^email: may have letters/],
    [{ ...good, email: 'héllo' }, /^email: may have letters/],
    [{ ...good, email: '.hello' }, /^email: may have letters/],
    [{ ...good, email: 'a'.repeat(65) }, /^email: must have at most 64/],
    [{ ...good, domain: 'example' }, /^domain: has no dot/],
    [{ ...good, domain: 'co.uk' }, /^domain: is shared by many owners/],
    [{ ...good, domain: '192.0.2.1' }, /^domain: is an IP address/],
    [{ ...good, domain: 'https://example.com' }, /^domain: is a web address/],
    [{ ...good, domain: 'posthaste.test' }, /^domain: is this installation’s own/],
    [{ ...good, domain: 'a.posthaste.TEST' }, /^domain: is this installation’s own/],
    [{ ...good, domain: `${'abcdefghi.'.repeat(19)}com` }, /^domain: is longer than 180 bytes/],
    [{ ...good, domain: 7 }, /^domain: /],
  ]
  for (const [body, message] of cases) {
    const answer = await list.put(body)
    assert.equal(answer.status, 422, JSON.stringify(body))
    assert.match(answer.body.error.message, message, JSON.stringify(body))
  }
  assert.equal((await list.get()).type, 'tinysend')
  assert.deepEqual(await list.project.events(), [])
  assert.equal((await database.many`select 1 from dkim_keys where project_id = ${list.project.id}`).length, 0)
})

test('tinysend and default reset, DELETE does, and what nobody needs goes', async () => {
  const list = await newSenderList(app)
  for (const reset of [
    () => list.put({ type: 'tinysend' }),
    () => list.put({ type: 'default', domain: 'ignored.example' }),
    () => list.project.delete(list.path),
  ]) {
    await setUp(list)
    await list.project.events()
    const answer = await reset()
    assert.ok(answer.status === 204 || answer.body.type === 'tinysend', JSON.stringify(answer.body))
    assert.deepEqual(await list.project.events(), ['list.updated'])
    assert.deepEqual([(await list.get()).type, (await list.get()).status], ['tinysend', 'default'])
    assert.equal((await database.many`select 1 from sender_domains where project_id = ${list.project.id}`).length, 0)
    assert.equal((await database.many`select 1 from dkim_keys where project_id = ${list.project.id}`).length, 0)
  }
  assert.equal((await list.project.delete(list.path)).status, 204)
  assert.deepEqual(await list.project.events(), [])
})

test('lists of one project share a domain: what is verified for one is for all', async () => {
  const first = await newSenderList(app)
  const records = await verifySender(dns, first)
  const second = await newSenderList(app, { project: first.project, domain: first.domain })
  await first.project.events()
  const { body } = await second.put({ type: 'custom_domain', name: 'Ben', email: 'ben', domain: first.domain })
  assert.deepEqual([body.status, body.records.map(({ name }: { name: string }) => name)], ['verified', records.map(({ name }) => name)])
  assert.deepEqual(await first.project.events(), ['list.updated'])
  await first.project.delete(first.path)
  assert.equal((await second.get()).status, 'verified')
  await second.project.delete(`/lists/${second.id}`)
  const { body: left } = await first.project.get(`/lists/${first.id}`)
  assert.equal(left.sender_domain, null)
})

test('of two projects with one domain, the first to verify it has it, and the other hears so', async () => {
  const first = await newSenderList(app)
  const second = await newSenderList(app, { domain: first.domain })
  const [ours, theirs] = [await setUp(first), await setUp(second)]
  assert.notDeepEqual(ours[0], theirs[0])
  addRecords(dns, first.domain, ours)
  // One who has proved nothing hears nothing of others.
  assert.equal((await first.check()).status, 'verified')
  assert.match((await second.check()).next_step, /^TXT ph.* is not there yet\./)
  addRecords(dns, second.domain, theirs)
  const { status, next_step } = await second.check()
  assert.equal(status, 'pending')
  assert.match(next_step, /^All records are right, but another project on this server sends from .* remove its DKIM records from the DNS/)
  assert.equal(
    (
      await database.many`select 1 from dkim_keys where domain = ${first.domain} and status = 'active' and project_id = ${second.project.id}`
    ).length,
    0,
  )
  const path = dns.names[`bounce.${first.domain}`] as DnsName
  delete dns.names[`bounce.${first.domain}`]
  assert.match((await second.check()).next_step, /^CNAME bounce\..* is not there yet\. Until then/)
  dns.names[`bounce.${first.domain}`] = path
  await first.project.delete(first.path)
  assert.equal((await second.check()).status, 'verified')
})

test('another project’s list has no sender', async () => {
  const [list, other] = [await newSenderList(app), await app.newProject()]
  await setUp(list)
  for (const [method, path] of [
    ['GET', list.path],
    ['PUT', list.path],
    ['DELETE', list.path],
    ['POST', `${list.path}/check`],
    ['POST', `${list.path}/rotate`],
  ] as const) {
    const body = JSON.stringify({ type: 'custom_domain', name: 'Eve', email: 'eve', domain: 'eve.example' })
    const answer = await other.request(method, path, method === 'PUT' ? { body, headers: { 'content-type': 'application/json' } } : {})
    assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], `${method} ${path}`)
  }
  assert.equal((await list.get()).status, 'pending')
  assert.deepEqual(await other.events(), [])
})

test('the paths of before do the same, and say where to go', async () => {
  const list = await newSenderList(app)
  const path = `/lists/${list.id}/domain`
  const told = (answer: { headers: Headers }) => [answer.headers.get('deprecation'), answer.headers.get('link')]
  const successor = (end = '') => ['@1794700800', `<${app.url}/v1${list.path}${end}>; rel="successor-version"`]
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ type: 'custom_domain', name: 'Ann', email: 'hello', domain: list.domain })
  const put = await list.project.request('PUT', path, { body, headers })
  assert.deepEqual([put.status, put.body, told(put)], [200, await list.get(), successor()])
  const got = await list.project.get(path)
  assert.deepEqual([got.status, got.body, told(got)], [200, await list.get(), successor()])
  const checked = await list.project.post(`${path}/check`)
  assert.deepEqual([checked.status, checked.body, told(checked)], [200, await list.get(), successor('/check')])
  const bad = await list.project.request('PUT', path, { body: '{}', headers })
  assert.deepEqual([bad.status, told(bad)], [422, successor()])
  const gone = await list.project.delete(path)
  assert.deepEqual([gone.status, told(gone)], [204, successor()])
  assert.equal((await list.project.get(list.path)).headers.get('deprecation'), null)
})

test('a project has fifty domains at most', async () => {
  const list = await newSenderList(app)
  await database.run`
    insert into sender_domains (project_id, domain, created_at, pending_since, next_check_at)
    select ${list.project.id}, 'n' || n || '.example.test', now(), now(), now() + interval '1 year' from generate_series(1, 50) n`
  const { status, body } = await list.put({ type: 'custom_domain', name: 'Ann', email: 'hello', domain: list.domain })
  assert.deepEqual([status, body.error.code], [422, 'validation_error'])
  assert.match(body.error.message, /^domain: is one more than the 50/)
})
