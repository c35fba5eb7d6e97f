import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeSignInLink } from '../server/features/identity/index.ts'
import { startApp } from './support/posthaste.ts'
import { newVisitor, signIn, type Visitor } from './support/visitor.ts'

/** What becomes of a sign-in: listed, kept alive, ended; and the links that make one without mail. */
const app = await startApp()
const { database } = app.services
const dayMs = 24 * 3_600_000

const isIn = async (visitor: Visitor): Promise<boolean> => (await visitor.get('/account')).status === 200
const again = (address: string): Promise<Visitor> => {
  app.clock.advance(61_000)
  return signIn(app, address)
}
const auditOf = async (address: string): Promise<string[]> => {
  const rows = await database.many<{ operation: string }>`
    select a.operation from audit_log a join users u on u.id = a.user_id where u.email_key = ${address} order by a.at, a.id`
  return rows.map((row) => row.operation)
}

test('a session lasts thirty days from the last visit', async () => {
  const visitor = await signIn(app, 'sliding@example.org')
  const cookie = visitor.cookies.get('__Host-session')
  for (let visit = 0; visit < 3; visit++) {
    app.clock.advance(29 * dayMs)
    const page = await visitor.get('/account')
    assert.equal(page.status, 200)
    assert.match(page.headers.getSetCookie().join(), /^__Host-session=[\w-]{43};.*Max-Age=2592000/, 'the cookie lasts as long')
    assert.equal(visitor.cookies.get('__Host-session'), cookie)
  }
  assert.deepEqual((await visitor.get('/account')).headers.getSetCookie(), [], 'a second visit within minutes changes nothing')
  app.clock.advance(30 * dayMs + 1000)
  assert.equal(await isIn(visitor), false)
})

test('each browser is listed by name and address, this one marked, and can be ended alone', async () => {
  const first = await signIn(app, 'browsers@example.org')
  const second = await again('browsers@example.org')
  const other = await signIn(app, 'stranger@example.org')
  const page = await first.get('/account')
  const ids = [...page.html.matchAll(/\/account\/sessions\/(ses_\w+)\/revoke/g)].map((match) => match[1] as string)
  assert.equal(ids.length, 2)
  assert.equal(page.html.match(/\(this one\)/g)?.length, 1)
  assert.match(page.html, /127\.0\.0\.1/)

  // The one that is not marked is the second: the newest sign-in stands first.
  assert.equal((await other.post(`/account/sessions/${ids[0]}/revoke`)).status, 404)
  assert.equal(await isIn(second), true)
  const ended = await first.post(`/account/sessions/${ids[0]}/revoke`)
  assert.deepEqual([ended.status, ended.location], [303, '/account'])
  assert.deepEqual([await isIn(first), await isIn(second)], [true, false])
  for (const id of [ids[0], 'ses_x', 'x', `ses_${'z'.repeat(26)}`])
    assert.equal((await first.post(`/account/sessions/${id}/revoke`)).status, 404, id)
  await first.post(`/account/sessions/${ids[1]}/revoke`)
  assert.equal(await isIn(first), false)
  assert.deepEqual(await auditOf('browsers@example.org'), ['sessions.create', 'sessions.create', 'sessions.delete', 'sessions.delete'])
})

test('signing out ends this browser, and its cookie is worth nothing afterwards', async () => {
  const [visitor, staying] = [await signIn(app, 'out@example.org'), await again('out@example.org')]
  const secret = visitor.cookies.get('__Host-session') as string
  const out = await visitor.post('/sign-out')
  assert.deepEqual([out.status, out.location], [303, '/sign-in'])
  assert.equal(visitor.cookies.has('__Host-session'), false)
  visitor.cookies.set('__Host-session', secret)
  assert.deepEqual([await isIn(visitor), await isIn(staying)], [false, true])
  assert.equal((await newVisitor(app.url).post('/sign-out')).status, 303, 'who is not signed in can do it too')
})

test('signing out everywhere ends all at once, and nobody else’s', async () => {
  const other = await signIn(app, 'bystander@example.org')
  const all = [await signIn(app, 'everywhere@example.org')]
  for (let number = 0; number < 3; number++) all.push(await again('everywhere@example.org'))
  const out = await (all[0] as Visitor).post('/account/sessions/sign-out-everywhere')
  assert.deepEqual([out.status, out.location], [303, '/sign-in'])
  for (const visitor of all) assert.equal(await isIn(visitor), false)
  assert.equal(await isIn(other), true)
  assert.equal((await auditOf('everywhere@example.org')).at(-1), 'sessions.delete_all')
})

test('whoever has no project left can still look and sign out everywhere', async () => {
  const visitor = await signIn(app, 'lonely@example.org')
  await database.run`update projects set deleted_at = now() where slug = 'lonely'`
  const page = await visitor.get('/account')
  assert.equal(page.status, 200)
  assert.match(page.html, /You are in no project/)
  assert.equal((await visitor.get('/account/tokens')).status, 404)
  assert.equal((await visitor.post('/account/sessions/sign-out-everywhere')).status, 303)
  assert.equal(await isIn(visitor), false)
})

test('an account that is switched off is signed out at once', async () => {
  const visitor = await signIn(app, 'off@example.org')
  await database.run`update users set disabled_at = now() where email_key = 'off@example.org'`
  assert.equal(await isIn(visitor), false)
})

const linkFor = async (address: string): Promise<string> => {
  const user = await database.first<{ id: never }>`select id from users where email_key = ${address}`
  const url = await database.transaction((tx) => makeSignInLink(tx, app.config, user?.id as never))
  return url.slice(app.url.length)
}

test('a link signs in once: looking at it uses nothing up, the button does', async () => {
  const link = await linkFor('owner@posthaste.test')
  for (let look = 0; look < 3; look++) {
    const page = await newVisitor(app.url).get(link)
    assert.equal(page.status, 200)
    assert.match(page.html, /<form method="post"><button>/)
    assert.deepEqual(page.headers.getSetCookie(), [])
  }
  const visitors = Array.from({ length: 5 }, () => newVisitor(app.url))
  const answers = await Promise.all(visitors.map((visitor) => visitor.post(link)))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 404, 404, 404, 404])
  const winner = visitors[answers.findIndex(({ status }) => status === 303)] as Visitor
  assert.match((await winner.get('/account')).html, /owner@posthaste\.test/)
  const over = await newVisitor(app.url).get(link)
  assert.equal(over.status, 404)
  assert.match(over.html, /npx posthaste sign-in/)
})

test('a link is over after an hour, and what is none is not found', async () => {
  const link = await linkFor('owner@posthaste.test')
  app.clock.advance(3_600_000 + 1000)
  for (const path of [link, '/sign-in/link/x', `/sign-in/link/${'A'.repeat(43)}`, "/sign-in/link/'%20or%201=1", '/sign-in/link/%00']) {
    assert.equal((await newVisitor(app.url).get(path)).status, 404, path)
    assert.equal((await newVisitor(app.url).post(path)).status, 404, path)
  }
})

test('the night removes what is over, and nothing else', async () => {
  await signIn(app, 'kept@example.org')
  const link = await linkFor('owner@posthaste.test')
  await database.run`insert into sign_in_links (hash, user_id, expires_at) select 'x', id, ${app.clock.now()}::timestamptz - interval '1 s' from users limit 1`
  app.clock.advance(31 * dayMs)
  const visitor = await signIn(app, 'fresh@example.org')
  const fresh = await linkFor('owner@posthaste.test')
  const { pruneSignIns } = await import('../server/features/sessions/index.ts')
  await pruneSignIns.run(app.services, {} as never)
  assert.equal(await isIn(visitor), true)
  assert.equal((await database.many`select 1 from sessions`).length, 1)
  assert.equal((await database.many`select 1 from email_codes`).length, 1)
  assert.equal((await database.many`select 1 from sign_in_links`).length, 1)
  assert.deepEqual([(await newVisitor(app.url).get(link)).status, (await newVisitor(app.url).get(fresh)).status], [404, 200])
})
