import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { newVisitor } from '../../tests/support/visitor.ts'

const app = await startApp()
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const ask = (path: string, init: RequestInit = {}) => fetch(app.url + path, { redirect: 'manual', ...init })

test('a mistyped address is a page to a browser', async () => {
  for (const path of ['/account/teams', '/acount', '/sign-in/kode', '/invites', '/favicon', '/account/team/nothing']) {
    const answer = await ask(path, { headers: browser })
    assert.equal(answer.status, 404, path)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/, path)
    assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    const text = await answer.text()
    assert.match(text, /There is nothing here/)
    assert.doesNotMatch(text, /openapi|GET/)
  }
  const wrongWay = await ask('/sign-out', { headers: browser })
  assert.deepEqual([wrongWay.status, wrongWay.headers.get('content-type')], [404, 'text/html; charset=utf-8'])
})

test('to programs, and below the API whoever asks, it is the contract’s error', async () => {
  for (const [path, headers] of [
    ['/account/teams', { accept: 'application/json' }],
    ['/account/teams', { accept: '*/*' }],
    ['/v1/nothing', browser],
    ['/api/nothing', browser],
    ['/v1/', browser],
    ['/ann/letters/v1/nothing', browser],
  ] as const) {
    const answer = await ask(path, { headers })
    assert.equal(answer.status, 404, path)
    assert.equal(((await answer.json()) as { error: { code: string } }).error.code, 'not_found', path)
  }
  const enveloped = (await (await ask('/agent/nothing', { headers: browser })).json()) as { ok: boolean }
  assert.equal(enveloped.ok, false)
  assert.equal((await ask('/v1/lists', { headers: browser })).headers.get('content-type'), 'application/json; charset=utf-8')
})

test('what breaks inside is told without a word of what it was, with the number that the log has', async (t) => {
  const broken = await startApp()
  t.after(() => broken.stop().catch(() => {}))
  const visitor = newVisitor(broken.url)
  visitor.cookies.set('__Host-session', 'whatever')
  await broken.services.database.run`alter table sessions rename to elsewhere`
  for (const answer of [await visitor.get('/account'), await visitor.post('/account/tokens', { name: 'x' })]) {
    assert.equal(answer.status, 500)
    assert.match(answer.headers.get('content-type') ?? '', /^text\/html/)
    assert.match(answer.html, /Something went wrong on our side/)
    assert.doesNotMatch(answer.html, /sessions|relation|elsewhere/)
    assert.ok(answer.html.includes(answer.headers.get('x-request-id') ?? assert.fail()))
  }
})
