import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createTestClock, startApp } from '../../tests/support/posthaste.ts'
import { newVisitor } from '../../tests/support/visitor.ts'

const clock = createTestClock()
const limit = 10
const app = await startApp({ RATE_LIMIT_PER_MINUTE: String(limit) }, { clock })
const windowMs = 60_000

/** Each test begins a minute of its own. */
beforeEach(() => clock.advance(windowMs - (clock.now().getTime() % windowMs) + 1_000))

const post = (path: string, headers: Record<string, string> = {}) =>
  fetch(app.url + path, { method: 'POST', redirect: 'manual', body: new URLSearchParams(), headers: { origin: app.url, ...headers } })
const left = (response: Response) => response.headers.get('x-ratelimit-remaining')

test('whatever is posted to a page counts, once, with what that address asks of the API', async () => {
  const paths = ['/sign-in', '/sign-out', '/account/tokens', '/account/apps/revoke', '/confirm/x', '/oauth/token', '/oauth/interaction/x']
  for (const [at, path] of paths.entries()) assert.equal(left(await post(path)), String(limit - at - 1), path)
  assert.equal(left(await fetch(`${app.url}/v1/openapi.json`)), String(limit - paths.length - 1))
  assert.equal(left(await fetch(`${app.url}/oauth/authorize`)), String(limit - paths.length - 2), 'a look that costs')
  for (const path of ['/', '/sign-in', '/account', '/confirm/x', '/.well-known/oauth-authorization-server'])
    assert.equal(left(await fetch(app.url + path, { redirect: 'manual' })), null, path)
})

test('one too many is refused before anything is done, as a page where a person looks', async () => {
  const { database } = app.services
  const visitor = newVisitor(app.url)
  const codes = () => database.many`select 1 from email_codes`
  for (let at = 0; at < limit; at++) await visitor.post('/sign-out')
  const before = await codes()
  for (const path of ['/sign-in', '/account/tokens', '/confirm/x', '/oauth/interaction/x']) {
    const refused = await visitor.post(path, { email: 'ann@example.org' })
    assert.equal(refused.status, 429, path)
    assert.match(refused.headers.get('content-type') ?? '', /^text\/html/, path)
    assert.match(refused.html, /Only 10 requests a minute are allowed\. Wait \d+ s\./)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    assert.equal(((await (await post(path)).json()) as { error: { code: string } }).error.code, 'rate_limited')
  }
  assert.equal(((await (await post('/oauth/token')).json()) as { error: string }).error, 'temporarily_unavailable')
  assert.deepEqual(await codes(), before)
  assert.equal((await visitor.get('/sign-in')).status, 200)
  clock.advance(windowMs)
  assert.equal((await visitor.post('/sign-in', { email: 'ann@example.org' })).status, 303)
})
