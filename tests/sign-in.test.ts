import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from './support/posthaste.ts'
import { capturedFor, codeFor, newVisitor, signIn } from './support/visitor.ts'

/** Signing in by mail, as somebody with a browser without scripts sees it. */
const app = await startApp()
const { database } = app.services

test('whoever proves an address is signed in, with an account and a project of their own', async () => {
  const ann = newVisitor(app.url)
  const sentAway = await ann.get('/account')
  assert.deepEqual([sentAway.status, sentAway.location], [303, '/sign-in?next=%2Faccount'])
  const form = await ann.get('/sign-in?next=%2Faccount%2Ftokens')
  assert.equal(form.status, 200)
  assert.match(form.html, /<input type="hidden" name="next" value="\/account\/tokens">/)
  assert.ok(!form.html.includes('<script'))

  const asked = await ann.post('/sign-in', { email: ' Ann.Lee@Example.org ', next: '/account/tokens' })
  assert.deepEqual([asked.status, asked.location], [303, '/sign-in/code?next=%2Faccount%2Ftokens'])
  const page = await ann.get(asked.location as string)
  assert.equal(page.status, 200)
  assert.match(page.html, /<strong>Ann\.Lee@example\.org<\/strong>/)
  assert.match(page.html, /inputmode="numeric" autocomplete="one-time-code"/)

  const code = await codeFor(app, 'Ann.Lee@example.org')
  const [mail] = await capturedFor(app, 'Ann.Lee@example.org')
  assert.ok(!mail?.subject?.includes(code), 'the code is in the mail, not on a locked screen')
  const done = await ann.post(asked.location as string, { code: `${code.slice(0, 3)} ${code.slice(3)}` })
  assert.deepEqual([done.status, done.location], [303, '/account/tokens'])
  const account = await ann.get('/account')
  assert.equal(account.status, 200)
  assert.match(account.html, /Ann\.Lee@example\.org/)
  assert.match(account.html, /My project <span class="soft">ann-lee<\/span><\/td><td[^>]*>owner/)

  const again = await ann.get('/sign-in?next=/account/tokens')
  assert.deepEqual([again.status, again.location], [303, '/account/tokens'])
})

test('the same address in other letters is the same account, and its mail goes where it always went', async () => {
  await signIn(app, 'bob@example.org')
  app.clock.advance(61_000)
  const bob = newVisitor(app.url)
  const asked = await bob.post('/sign-in', { email: 'BOB@EXAMPLE.ORG' })
  const done = await bob.post(asked.location as string, { code: await codeFor(app, 'bob@example.org', 1) })
  assert.equal(done.status, 303)
  assert.equal((await database.many`select 1 from users where email_key = 'bob@example.org'`).length, 1)
  assert.equal((await database.many`select 1 from projects where slug like 'bob%'`).length, 1)
})

test('two right answers at once sign in one browser', async () => {
  const visitor = newVisitor(app.url)
  const asked = await visitor.post('/sign-in', { email: 'twice@example.org' })
  const code = await codeFor(app, 'twice@example.org')
  const answers = await Promise.all(Array.from({ length: 4 }, () => visitor.post(asked.location as string, { code })))
  assert.equal(answers.filter(({ status }) => status === 303).length, 1)
  const sessions = await database.many`select 1 from sessions s join users u on u.id = s.user_id where u.email_key = 'twice@example.org'`
  assert.equal(sessions.length, 1)
})

test('what is no address is said on the form, typed text is text, and nothing is sent', async () => {
  const before = (await database.many`select 1 from email_codes`).length
  for (const email of [
    '',
    'ann',
    '@example.org',
    'a@b@c',
    '"><script>alert(1)</script>@x',
    'a@example.org\r\nBcc: x@y.z',
    'x'.repeat(400),
  ]) {
    const { status, html } = await newVisitor(app.url).post('/sign-in', { email })
    assert.equal(status, 422, email)
    assert.match(html, /not an e-mail address/)
    assert.ok(!html.includes('<script'))
  }
  assert.equal((await newVisitor(app.url).post('/sign-in')).status, 422)
  assert.equal((await database.many`select 1 from email_codes`).length, before)
})

test('what people type and call themselves is shown as text', async () => {
  const visitor = newVisitor(app.url)
  const address = "o'brien+<b>&@example.org"
  const { html } = await visitor.post('/sign-in', { email: address, next: '/"><img src=x>' })
  assert.ok(!html.includes('<b>') && !html.includes('<img'))
  const rude = newVisitor(app.url)
  const asked = await rude.post('/sign-in', { email: 'rude@example.org' })
  const code = await codeFor(app, 'rude@example.org')
  await rude.post(asked.location as string, { code }, { 'user-agent': '<script>alert(1)</script>' })
  await database.run`update projects set name = '<i>Mine</i>' where slug = 'rude'`
  for (const path of ['/account', '/account/tokens']) {
    const page = await rude.get(path)
    assert.equal(page.status, 200)
    assert.ok(!/<script|<i>/.test(page.html), path)
    assert.ok(page.html.includes('&lt;i&gt;Mine&lt;/i&gt;'), path)
  }
})

test('a page asked for without a code waiting leads back to the start', async () => {
  const nobody = newVisitor(app.url)
  const page = await nobody.get('/sign-in/code?next=/account/team')
  assert.deepEqual([page.status, page.location], [303, '/sign-in?next=%2Faccount%2Fteam'])
  const posted = await nobody.post('/sign-in/code', { code: '123456' })
  assert.equal(posted.status, 400)
  assert.match(posted.html, /waits for no code/)
})

const refusedNexts = [
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\n/evil.example',
  ' //evil.example',
  'https://evil.example',
  'HTTPS:evil.example',
  'https:/evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  '@evil.example',
  '.evil.example',
  '',
  'account',
  '/.//evil.example',
  '/x/..//evil.example',
  '/%2e//evil.example',
  '/a\\b',
  '/\u0000',
  '/\u2028/evil.example',
  `/${'x'.repeat(3000)}`,
]

test('after signing in one stays on this site, whatever was asked for', async () => {
  const visitor = await signIn(app, 'next@example.org')
  for (const next of refusedNexts) {
    const { status, location } = await visitor.get(`/sign-in?next=${encodeURIComponent(next)}`)
    assert.deepEqual([status, location], [303, '/account'], JSON.stringify(next))
  }
  assert.equal((await visitor.get('/sign-in?next=/a&next=//evil.example')).location, '/account')
  const followed = [
    '/account/team?project=x',
    '/oauth/interaction/abc',
    '/a%2f%2fb',
    '/%5cevil',
    '/a//b',
    '/account?next=https://evil.example',
  ]
  for (const next of followed) {
    const { location } = await visitor.get(`/sign-in?next=${encodeURIComponent(next)}`)
    assert.equal(location, next)
  }
  // Through the form, too: once as the hidden field, once in the code page's own address.
  const fresh = newVisitor(app.url)
  const asked = await fresh.post('/sign-in', { email: 'next2@example.org', next: '//evil.example' })
  assert.equal(asked.location, '/sign-in/code?next=%2Faccount')
  const done = await fresh.post('/sign-in/code?next=%2F%5Cevil.example', { code: await codeFor(app, 'next2@example.org') })
  assert.deepEqual([done.status, done.location], [303, '/account'])
})

test('every page says that it runs no script, is framed by nobody and kept by no cache', async () => {
  const visitor = await signIn(app, 'headers@example.org')
  for (const path of ['/account', '/account/tokens']) {
    const { headers } = await visitor.get(path)
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none';.*form-action 'self';.*frame-ancestors 'none'/)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('access-control-allow-origin'), null)
  }
  assert.equal((await newVisitor(app.url).get('/sign-in')).headers.get('cache-control'), 'no-store')
})
