import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, begin, newPerson, registerApp } from './support/oauth.ts'
import { startApp } from './support/posthaste.ts'
import { newVisitor } from './support/visitor.ts'

const app = await startApp()
const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }

/** What an app may ask wrongly, and what it is told. */
const mistakes: [Record<string, string>, string][] = [
  [{ code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
  [{ code_challenge_method: 'plain' }, 'invalid_request'],
  [{ resource: 'https://elsewhere.example' }, 'invalid_target'],
  [{ response_type: 'token' }, 'unsupported_response_type'],
  [{ response_type: 'code id_token' }, 'unsupported_response_type'],
  [{ prompt: 'none' }, 'login_required'],
  [{ response_mode: 'web_message' }, 'unsupported_response_mode'],
]

const authorizeAs = async (redirect_uri: string) => {
  const config = await registerApp(app, { redirect_uris: [redirect_uri] })
  const base = {
    response_type: 'code',
    client_id: config.clientMetadata().client_id,
    redirect_uri,
    scope: 'read',
    state: 's',
    ...challenge,
  }
  return (params: Record<string, string>, visitor = newVisitor(app.url)) =>
    visitor.get(`/oauth/authorize?${new URLSearchParams({ ...base, ...params })}`)
}

test('nobody is sent to an app’s site before they have decided: the page says what is wrong and where the app would lead', async () => {
  const authorize = await authorizeAs('https://evil.test/cb')
  const { visitor } = await newPerson(app)
  for (const [params, error] of mistakes)
    for (const who of [newVisitor(app.url), visitor]) {
      const { status, location, html, headers } = await authorize(params, who)
      assert.deepEqual([status, location], [400, null], JSON.stringify(params))
      assert.match(html, /This cannot go on/)
      assert.ok(html.includes(`<pre>${error}: `), html)
      assert.ok(html.includes('<strong>evil.test</strong>'), html)
      const link = new URL(
        /<a href="(https:\/\/evil\.test\/cb[^"]+)" rel="noreferrer nofollow"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? '',
      )
      const said = new URLSearchParams(link.search || link.hash.slice(1))
      assert.deepEqual([said.get('error'), said.get('state'), said.get('iss')], [error, 's', app.config.AUTH_URL])
      assert.doesNotMatch(html, /<script|http-equiv|<form/)
      assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
    }
})

test('a form that sends itself is no way around it', async () => {
  const authorize = await authorizeAs('https://evil.test/cb')
  const { status, html, headers } = await authorize({ response_mode: 'form_post', prompt: 'none' })
  assert.equal(status, 400, html)
  assert.doesNotMatch(html, /<script|<form/)
  assert.match(html, /login_required.*<strong>evil\.test<\/strong>/s)
  assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'/)
})

test('an app on the person’s own device hears at once', async () => {
  for (const redirect_uri of [
    'http://127.0.0.1:4000/back',
    'http://localhost:4000/back',
    'http://[::1]:4000/back',
    'com.example.app:/back',
  ]) {
    const authorize = await authorizeAs(redirect_uri)
    for (const [params, error] of mistakes) {
      const { status, location } = await authorize(params)
      assert.equal(status, 303, `${redirect_uri} ${JSON.stringify(params)}`)
      assert.ok(location?.startsWith(redirect_uri), String(location))
      const back = new URL(location as string)
      const said = new URLSearchParams(back.search || back.hash.slice(1))
      assert.deepEqual([said.get('error'), said.get('state'), said.get('iss')], [error, 's', app.config.AUTH_URL])
    }
  }
})

test('after a decision the way back is open, whichever it was', async () => {
  const person = await newPerson(app)
  const redirect_uri = 'https://app.example/back'
  const config = await registerApp(app, { redirect_uris: [redirect_uri] })
  const allowed = await answer(person, await begin(config, person.visitor, { redirect_uri }))
  assert.ok(allowed.href.startsWith(`${redirect_uri}?code=`), allowed.href)
  const denied = await answer(person, await begin(config, person.visitor, { redirect_uri }), { decision: 'deny' })
  assert.ok(denied.href.startsWith(`${redirect_uri}?error=access_denied`), denied.href)
})

test('going on without a decision leads back to the question', async () => {
  const person = await newPerson(app)
  const redirect_uri = 'https://app.example/back'
  const config = await registerApp(app, { redirect_uris: [redirect_uri] })
  const { page } = await begin(config, person.visitor, { redirect_uri })
  const resumed = await person.visitor.get(page.replace('/oauth/interaction/', '/oauth/authorize/'))
  assert.equal(resumed.status, 303)
  assert.match(resumed.location ?? '', /^\/oauth\/interaction\//)
})
