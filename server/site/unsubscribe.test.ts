import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newSentPost, suppressionsOf } from '../../tests/support/recipients.ts'
import { assertCounts } from '../../tests/support/subscribers.ts'
import { until } from '../../tests/support/until.ts'
import { capturedFor, newVisitor } from '../../tests/support/visitor.ts'
import { formatDeliveryToken } from '../base/delivery-token.ts'
import { newId } from '../base/ids.ts'
import { createSecrets } from '../base/secrets.ts'

const app = await startApp()
const oneClick = (token: string, init: RequestInit) => fetch(`${app.url}/u/${token}`, { method: 'POST', redirect: 'manual', ...init })

test('the link in the mail shows a button and changes nothing; the button unsubscribes', async () => {
  const { project, list } = await newSentPost(app, { subscribers: 2 })
  const [mail] = (await capturedFor(app, 'reader-2@example.org')).slice(-1)
  const link = /<(http[^>]+)>/.exec(mail?.headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '')?.[1] as string
  const path = link.replace(app.url, '')
  const visitor = newVisitor(app.url)
  for (let look = 0; look < 3; look++) {
    const { status, html, headers } = await visitor.get(path)
    assert.equal(status, 200)
    assert.match(html, /<strong>reader-2@example\.org<\/strong> gets no more of <strong>News<\/strong>/)
    assert.match(html, /<form method="post">.*<button>Unsubscribe me<\/button>/)
    assert.equal(headers.get('cache-control'), 'no-store')
  }
  assert.equal((await fetch(link, { method: 'HEAD' })).status, 200)
  assert.deepEqual(await project.events(), [])
  await assertCounts(app, project, list.id, { active: 2 })

  const pressed = await visitor.post(path, { 'List-Unsubscribe': 'One-Click' })
  assert.equal(pressed.status, 200)
  assert.match(pressed.html, /You are unsubscribed.*reader-2@example\.org/)
  const told = await project.eventsWithData()
  assert.deepEqual(
    told.map(({ type, data }) => [type, (data.subscriber as { email: string; status: string }).email]),
    [['subscriber.unsubscribed', 'reader-2@example.org']],
  )
  await assertCounts(app, project, list.id, { active: 1, unsubscribed: 1 })
  assert.match((await visitor.get(path)).html, /You are unsubscribed/)
  assert.deepEqual(await suppressionsOf(project), [], 'leaving one list suppresses nothing')
})

test('one click in every form that providers post it (RFC 8058): 200, no cookie, no redirect, from any site', async () => {
  const multipart = new FormData()
  multipart.set('List-Unsubscribe', 'One-Click')
  const forms: Record<string, RequestInit> = {
    urlencoded: { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) },
    multipart: { body: multipart },
    'urlencoded with a charset': {
      body: 'List-Unsubscribe=One-Click',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' },
    },
    'no type': { body: Buffer.from('List-Unsubscribe=One-Click') },
    'another type': { body: 'List-Unsubscribe=One-Click', headers: { 'content-type': 'text/plain' } },
    'malformed JSON': { body: '{', headers: { 'content-type': 'application/json' } },
    empty: {},
    'from elsewhere': {
      body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
      headers: { origin: 'https://mail.example', 'sec-fetch-site': 'cross-site', cookie: 'session=rubbish' },
    },
  }
  const names = Object.keys(forms)
  const { project, list, recipients } = await newSentPost(app, { subscribers: names.length })
  for (const [index, name] of names.entries()) {
    const response = await oneClick(recipients[index]?.tokens.unsubscribe as string, forms[name] as RequestInit)
    assert.equal(response.status, 200, name)
    assert.deepEqual([response.headers.get('set-cookie'), response.headers.get('location')], [null, null], name)
    assert.deepEqual(await project.events(), ['subscriber.unsubscribed'], name)
  }
  await assertCounts(app, project, list.id, { unsubscribed: names.length })
})

test('twice, and ten times at once, is once', async () => {
  const { project, list, first } = await newSentPost(app)
  const answers = await Promise.all(Array.from({ length: 10 }, () => oneClick(first.tokens.unsubscribe, {})))
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
  assert.equal((await oneClick(first.tokens.unsubscribe.toUpperCase(), {})).status, 200)
  assert.deepEqual(await project.events(), ['subscriber.unsubscribed'])
  await assertCounts(app, project, list.id, { unsubscribed: 1 })
})

test('forged, foreign and cut tokens are nobody’s', async () => {
  const { project, list, first } = await newSentPost(app)
  const other = await newSentPost(app)
  const elsewhere = createSecrets('another key for tests, just as long as it')
  const about = { kind: 'delivery', project_id: project.id, id: first.id } as const
  const forged = {
    'another key': formatDeliveryToken(elsewhere, 'unsubscribe', about),
    'another kind': formatDeliveryToken(app.services.secrets, 'unsubscribe', { ...about, kind: 'email' }),
    cut: first.tokens.unsubscribe.slice(0, -1),
    changed: `${first.tokens.unsubscribe.slice(0, -1)}${first.tokens.unsubscribe.endsWith('0') ? '1' : '0'}`,
    'of a click link': first.tokens.click,
    'of the pixel': first.tokens.open,
    'of the return path': first.tokens.return_path,
    preview: 'preview',
    nul: '%00',
    long: 'z'.repeat(5_000),
  }
  for (const [name, token] of Object.entries(forged)) {
    for (const method of ['GET', 'POST']) {
      const response = await fetch(`${app.url}/u/${token}`, { method })
      assert.equal(response.status, 404, `${method} ${name}`)
      assert.match(await response.text(), /This link is not valid/, name)
    }
  }
  assert.equal((await oneClick(first.tokens.unsubscribe, { body: Buffer.alloc(20_000) })).status, 413)
  assert.deepEqual([await project.events(), await other.project.events()], [[], []])
  await assertCounts(app, project, list.id, { active: 1 })
})

test('who was removed, or whose list is gone, is told that nothing more comes', async () => {
  const { project, list, recipients } = await newSentPost(app, { subscribers: 2 })
  const [gone, stays] = recipients as [(typeof recipients)[0], (typeof recipients)[0]]
  const { body: people } = await project.get(`/lists/${list.id}/subscribers`)
  const one = people.find(({ email }: { email: string }) => email === gone.email)
  await project.delete(`/lists/${list.id}/subscribers/${one.id}`)
  await project.events()
  assert.equal((await oneClick(gone.tokens.unsubscribe, {})).status, 200)
  assert.deepEqual(await project.events(), [])
  await app.services.database.run`update lists set deleted_at = now() where project_id = ${project.id}`
  const answer = await oneClick(stays.tokens.unsubscribe, {})
  assert.equal(answer.status, 200)
  assert.match(await answer.text(), /gets no more of this list/)
  assert.deepEqual(await project.events(), [])
})

/** A token that we signed was in a mail of ours, whatever has become of its sender since. */
async function assertNothingMore(token: string): Promise<void> {
  for (const method of ['GET', 'POST']) {
    const response = await fetch(`${app.url}/u/${token}`, { method })
    assert.equal(response.status, 200, method)
    const page = await response.text()
    assert.match(page, /You are unsubscribed.*You get no more of this list/)
    assert.doesNotMatch(page, /<form|@example/)
  }
}

test('after its list is deleted and purged, a link says that nothing more comes', async () => {
  const { project, list, first } = await newSentPost(app)
  assert.equal((await project.delete(`/lists/${list.id}`)).status, 204)
  const { database } = app.services
  const ledger = () => database.many`select 1 from deliveries where project_id = ${project.id}`
  await until('the list to be purged', async () => (await ledger()).length === 0, { withinMs: 30_000 })
  await project.events()
  await assertNothingMore(first.tokens.unsubscribe)
  for (const deed of ['undo', 'reason']) {
    const answer = await fetch(`${app.url}/u/${first.tokens.unsubscribe}/${deed}`, {
      method: 'POST',
      body: new URLSearchParams({ words: 'x' }),
    })
    assert.equal(answer.status, 200, deed)
  }
  assert.deepEqual(await project.events(), [])
})

test('so do those of a project that is gone, and of a delivery that nobody has', async () => {
  const { project, first } = await newSentPost(app)
  const other = await app.newProject()
  const token = (about: object) =>
    formatDeliveryToken(app.services.secrets, 'unsubscribe', { kind: 'delivery', project_id: project.id, id: first.id, ...about })
  for (const about of [{ project_id: newId() }, { id: newId() }, { project_id: other.id }]) await assertNothingMore(token(about))
  assert.deepEqual([await project.events(), await other.events()], [[], []])
})

test('of a mail whose ledger was pruned nothing is promised: its reader may be subscribed still', async () => {
  const { project, list, first } = await newSentPost(app)
  const { database } = app.services
  await database.run`update broadcasts set pruned_at = now() where project_id = ${project.id}`
  await database.run`delete from deliveries where project_id = ${project.id}`
  assert.equal((await oneClick(first.tokens.unsubscribe, {})).status, 404)
  await assertCounts(app, project, list.id, { active: 1 })
})

test('who was erased is shown no address', async () => {
  const { project, list, first } = await newSentPost(app)
  const { body: people } = await project.get(`/lists/${list.id}/subscribers`)
  const { body: subscriber } = await project.get(`/lists/${list.id}/subscribers/${people[0].id}`)
  assert.equal(subscriber.email, first.email)
  const { body: contacts } = await project.get('/contacts')
  assert.equal((await project.delete(`/contacts/${contacts[0].id}`)).status, 204)
  const { database } = app.services
  await until(
    'the ledger to forget them',
    () => database.first`
    select 1 from deliveries where project_id = ${project.id} and email = 'erased@erased.invalid'`,
  )
  for (const method of ['GET', 'POST']) {
    const page = await (await fetch(`${app.url}/u/${first.tokens.unsubscribe}`, { method })).text()
    assert.match(page, /You get no more of <strong>News<\/strong>/)
    assert.ok(!page.includes('erased.invalid'))
  }
})

test('a link from before a merge works after it', async () => {
  const { project, list, first } = await newSentPost(app)
  const home = await app.newProject()
  const { database } = app.services
  // As a claim leaves it: the things are moved, and the registration says where to.
  for (const table of [
    'lists',
    'mailboxes',
    'subscribers',
    'contacts',
    'list_counters',
    'posts',
    'broadcasts',
    'deliveries',
    'broadcast_links',
  ])
    await database.execute(`update ${table} set project_id = $1 where project_id = $2`, [home.id, project.id])
  await database.run`
    insert into agent_registrations (id, kind, project_id, merged_into, claim_token_hash, claim_expires_at, created_at, ip)
    values (${newId()}, 'anonymous', ${project.id}, ${home.id}, ${Buffer.from(newId())}, now(), now(), '192.0.2.1')`
  assert.equal((await oneClick(first.tokens.unsubscribe, {})).status, 200)
  assert.deepEqual([await project.events(), await home.events()], [[], ['subscriber.unsubscribed']])
  await assertCounts(app, home, list.id, { unsubscribed: 1 })
})

test('a provider that posts for many of its users from one address is never told to come back later', async () => {
  const strict = await startApp({ RATE_LIMIT_PER_MINUTE: '2' })
  const post = () => fetch(`${strict.url}/u/${'a'.repeat(52)}`, { method: 'POST' })
  const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await post()).status))
  assert.deepEqual([...new Set(statuses)], [404])
})
