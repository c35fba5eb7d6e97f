import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from './support/posthaste.ts'
import { capturedFor, codeFor, newVisitor, signIn, type Visitor } from './support/visitor.ts'

/** What somebody who wants into another's account may try. */
const app = await startApp()
const { database } = app.services

const other = (code: string, by = 1): string => String((Number(code) + by) % 1_000_000).padStart(6, '0')
const sessionsOf = async (address: string): Promise<number> =>
  (await database.many`select 1 from sessions s join users u on u.id = s.user_id where u.email_key = ${address}`).length

async function ask(email: string): Promise<{ visitor: Visitor; code: string; page: string }> {
  const visitor = newVisitor(app.url)
  const seen = (await capturedFor(app, email)).length
  const asked = await visitor.post('/sign-in', { email })
  assert.equal(asked.status, 303, asked.html)
  return { visitor, page: asked.location as string, code: await codeFor(app, email, seen) }
}

test('five tries, and the right code no longer helps', async () => {
  const { visitor, page, code } = await ask('five@example.org')
  for (let guess = 1; guess <= 5; guess++) {
    const { status, html } = await visitor.post(page, { code: other(code, guess) })
    assert.equal(status, 401)
    assert.match(html, /That is not the code/)
  }
  const late = await visitor.post(page, { code })
  assert.equal(late.status, 410)
  assert.match(late.html, /tried too often/)
  assert.equal(await sessionsOf('five@example.org'), 0)
})

test('guesses at the same moment count, each of them', async () => {
  const { visitor, page, code } = await ask('parallel@example.org')
  const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => visitor.post(page, { code: other(code, index + 1) })))
  const statuses = answers.map(({ status }) => status)
  assert.deepEqual([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 410).length], [5, 25])
  assert.equal((await visitor.post(page, { code })).status, 410)
  const row = await database.first<{ tries: number }>`select tries from email_codes where email_key = 'parallel@example.org'`
  assert.equal(row?.tries, 5)
})

test('rubbish in place of a code is a wrong code', async () => {
  const { visitor, page, code } = await ask('rubbish@example.org')
  for (const typed of ['', `${code}0`, "' or 1=1 --", '٠١٢٣٤٥'])
    assert.equal((await visitor.post(page, { code: typed })).status, 401, typed)
  assert.equal((await visitor.post(page, { code })).status, 303)
})

test('a code works for ten minutes', async () => {
  const { visitor, page, code } = await ask('late@example.org')
  app.clock.advance(10 * 60_000 + 1000)
  const { status, html } = await visitor.post(page, { code })
  assert.equal(status, 410)
  assert.match(html, /too old/)
  assert.equal(await sessionsOf('late@example.org'), 0)
})

test('a new code does not bring the old one back, neither here nor in another browser', async () => {
  const first = await ask('again@example.org')
  for (let guess = 1; guess <= 5; guess++) await first.visitor.post(first.page, { code: other(first.code, guess) })
  app.clock.advance(61_000)
  const second = await ask('again@example.org')
  assert.equal((await first.visitor.post(first.page, { code: first.code })).status, 410)
  if (first.code !== second.code) assert.equal((await second.visitor.post(second.page, { code: first.code })).status, 401)
  // A code that somebody reads over a shoulder is of no use in a browser that did not ask for it.
  assert.equal((await newVisitor(app.url).post(second.page, { code: second.code })).status, 400)
  const thief = newVisitor(app.url)
  app.clock.advance(61_000)
  const asked = await thief.post('/sign-in', { email: 'thief@example.org' })
  assert.equal((await thief.post(asked.location as string, { code: second.code })).status === 303, false)
  assert.equal((await second.visitor.post(second.page, { code: second.code })).status, 303)
  assert.equal((await second.visitor.post(second.page, { code: second.code })).status, 400, 'it is used up')
})

test('one mailbox gets one code a minute and five an hour, whoever asks', async () => {
  const email = 'often@example.org'
  for (let sent = 1; sent <= 5; sent++) {
    assert.equal((await newVisitor(app.url).post('/sign-in', { email })).status, 303, `the ${sent}.`)
    const { status, headers, html } = await newVisitor(app.url).post('/sign-in', { email: email.toUpperCase() })
    assert.equal(status, 429)
    assert.match(headers.get('retry-after') ?? '', /^\d+$/)
    assert.match(html, /Wait \d+ s/)
    app.clock.advance(61_000)
  }
  assert.equal((await newVisitor(app.url).post('/sign-in', { email })).status, 429)
  assert.equal((await database.many`select 1 from email_codes where email_key = ${email}`).length, 5)
  app.clock.advance(3_600_000)
  assert.equal((await newVisitor(app.url).post('/sign-in', { email })).status, 303)
})

test('ten who ask for one mailbox at the same moment send one mail', async () => {
  const answers = await Promise.all(Array.from({ length: 10 }, () => newVisitor(app.url).post('/sign-in', { email: 'rush@example.org' })))
  assert.equal(answers.filter(({ status }) => status === 303).length, 1)
  assert.equal(answers.filter(({ status }) => status === 429).length, 9)
})

test('one place may ask for so many codes an hour, also all at once', async (t) => {
  const strict = await startApp({ CODES_PER_HOUR: '8' })
  t.after(() => strict.stop())
  const from = (ip: string) => ({ 'x-forwarded-for': ip })
  const askFrom = (number: number, ip: string) => newVisitor(strict.url).post('/sign-in', { email: `p${number}@example.org` }, from(ip))
  const answers = await Promise.all(Array.from({ length: 20 }, (_, number) => askFrom(number, '203.0.113.7')))
  assert.equal(answers.filter(({ status }) => status === 303).length, 8)
  assert.equal(answers.filter(({ status }) => status === 429).length, 12)
  assert.equal((await askFrom(30, '203.0.113.8')).status, 303)
  // One IPv6 line is one place.
  for (let number = 40; number < 48; number++) assert.equal((await askFrom(number, `2001:db8:1:2::${number}`)).status, 303)
  assert.equal((await askFrom(50, '2001:db8:1:2:ffff::1')).status, 429)
  assert.equal((await askFrom(51, '2001:db8:1:3::1')).status, 303)
})

test('a session that was planted is never taken over', async () => {
  const planted = 'A'.repeat(43)
  const { visitor, page, code } = await ask('fixed@example.org')
  visitor.cookies.set('__Host-session', planted)
  const done = await visitor.post(page, { code })
  assert.equal(done.status, 303)
  const secret = visitor.cookies.get('__Host-session')
  assert.notEqual(secret, planted)
  const thief = newVisitor(app.url)
  thief.cookies.set('__Host-session', planted)
  assert.equal((await thief.get('/account')).status, 303)

  // Signing in again gives a new secret and ends the old one.
  app.clock.advance(61_000)
  const seen = (await capturedFor(app, 'fixed@example.org')).length
  const again = await visitor.post('/sign-in', { email: 'fixed@example.org' })
  await visitor.post(again.location as string, { code: await codeFor(app, 'fixed@example.org', seen) })
  assert.notEqual(visitor.cookies.get('__Host-session'), secret)
  thief.cookies.set('__Host-session', secret as string)
  assert.equal((await thief.get('/account')).status, 303)
  assert.equal((await visitor.get('/account')).status, 200)
  assert.equal(await sessionsOf('fixed@example.org'), 1)
})

test('two cookies of one name are none', async () => {
  const visitor = await signIn(app, 'two@example.org')
  const own = `__Host-session=${visitor.cookies.get('__Host-session')}`
  const look = (cookie: string) => fetch(`${app.url}/account`, { redirect: 'manual', headers: { cookie } })
  assert.equal((await look(own)).status, 200)
  for (const cookie of [`${own}; __Host-session=x`, `__Host-session=x; ${own}`, own.replace('__Host-', ''), own.toLowerCase()])
    assert.equal((await look(cookie)).status, 303, cookie.slice(0, 20))
})

test('cookies are held to this host, to encryption and to this site', async (t) => {
  const visitor = newVisitor(app.url)
  const asked = await visitor.post('/sign-in', { email: 'cookie@example.org' })
  const secret = /^__Host-sign-in=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=1800; Secure$/
  assert.match(asked.headers.getSetCookie().join('\n'), secret)
  const done = await visitor.post(asked.location as string, { code: await codeFor(app, 'cookie@example.org') })
  const [cleared, known, session, ...none] = done.headers.getSetCookie()
  assert.equal(cleared, '__Host-sign-in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure')
  assert.match(known ?? '', /^__Host-known=[\w-]{66}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=31536000; Secure$/)
  assert.match(session ?? '', /^__Host-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000; Secure$/)
  assert.deepEqual(none, [])
  const out = await visitor.post('/sign-out')
  assert.deepEqual(out.headers.getSetCookie(), ['__Host-session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0; Secure'])

  const secure = await startApp({ AUTH_URL: 'https://id.example.org' })
  t.after(() => secure.stop())
  const there = await newVisitor(secure.url).post('/sign-in', { email: 'cookie@example.org' })
  assert.match(there.headers.getSetCookie().join('\n'), secret)
})

const foreign: Record<string, string>[] = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { origin: app.url.replace('http:', 'https:') },
  { origin: `${app.url}.evil.example` },
  { origin: '', 'sec-fetch-site': 'cross-site' },
  { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
]

test('what another site posts is refused, and changes nothing', async () => {
  const visitor = await signIn(app, 'csrf@example.org')
  const sessions = await database.many`select * from sessions order by id`
  const state = async () => [
    await database.many`select * from sessions order by id`,
    (await database.many`select 1 from api_keys`).length,
    (await database.many`select 1 from email_codes`).length,
  ]
  const before = await state()
  const targets: [string, Record<string, string>][] = [
    ['/sign-in', { email: 'victim@example.org' }],
    ['/sign-in/code', { code: '123456' }],
    ['/sign-in/link/x', {}],
    ['/sign-out', {}],
    ['/account/sessions/sign-out-everywhere', {}],
    [`/account/sessions/ses_${'0'.repeat(26)}/revoke`, {}],
    ['/account/tokens', { name: 'x', scope: 'admin' }],
    [`/account/tokens/key_${'0'.repeat(26)}/revoke`, {}],
  ]
  for (const headers of foreign)
    for (const [path, fields] of targets) {
      const answer = await visitor.post(path, fields, headers)
      assert.equal(answer.status, 403, `${path} ${JSON.stringify(headers)}`)
      assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
      assert.match(answer.html, /sent from another site/)
      assert.deepEqual(answer.headers.getSetCookie(), [])
    }
  assert.deepEqual(await state(), before)
  assert.ok(sessions.length > 0)
  assert.equal((await visitor.get('/account')).status, 200)
  // A browser that names the site by another header only.
  const same = await fetch(`${app.url}/sign-out`, { method: 'POST', redirect: 'manual', headers: { 'sec-fetch-site': 'same-site' } })
  assert.equal(same.status, 403)
})

test('looking changes nothing: no GET signs out, makes or ends anything', async () => {
  const visitor = await signIn(app, 'looker@example.org')
  for (const path of ['/sign-out', '/account/sessions/sign-out-everywhere', '/account/tokens?name=x&scope=read']) await visitor.get(path)
  assert.equal((await visitor.get('/account')).status, 200)
  assert.equal(await sessionsOf('looker@example.org'), 1)
})

test('of secrets only a SHA-256 is stored, of codes an HMAC, nowhere the thing itself', async () => {
  const { visitor, page, code } = await ask('stored@example.org')
  const attempt = visitor.cookies.get('__Host-sign-in') as string
  await visitor.post(page, { code })
  const secret = visitor.cookies.get('__Host-session') as string
  const { rows: tables } = await database.execute(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  assert.ok(tables.length > 20)
  for (const { name } of tables) {
    const { rows } = await database.execute(`select t::text as text from ${name} t`)
    const texts = rows.map((row) => String(row.text))
    for (const hidden of [attempt, secret]) {
      const hex = Buffer.from(hidden).toString('hex')
      assert.ok(!texts.some((text) => text.includes(hidden) || text.includes(hex)), String(name))
    }
  }
  const row = await database.first<{ text: string }>`select t::text as text from email_codes t where email_key = 'stored@example.org'`
  assert.ok(!row?.text.includes(`,${code},`))
})
