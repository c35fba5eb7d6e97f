import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as client from 'openid-client'
import { formatId } from '../server/base/ids.ts'
import { answer, begin, callback, letIn, newPerson, press, projectWith, registerApp } from './support/oauth.ts'
import { startApp } from './support/posthaste.ts'
import { speaking } from './support/project.ts'
import { until } from './support/until.ts'
import { newVisitor } from './support/visitor.ts'

const app = await startApp()

const grantsOf = (user_id: string) => app.services.database.many`select * from oauth_grants where user_id = ${user_id}`

test('the page says who asks, for what, and where it leads', async () => {
  const person = await newPerson(app)
  await projectWith(app, person, 'viewer')
  const config = await registerApp(app, { client_name: '<b>Fine & "dandy"</b>', redirect_uris: ['https://app.example/back'] })
  const { page } = await begin(config, person.visitor, { redirect_uri: 'https://app.example/back', scope: 'read send' })
  const shown = await person.visitor.get(page)
  assert.equal(shown.status, 200)
  assert.ok(shown.html.includes('Let &lt;b&gt;Fine &amp; &quot;dandy&quot;&lt;/b&gt; in?'))
  assert.ok(shown.html.includes(person.email))
  assert.ok(shown.html.includes('<strong>app.example</strong>'))
  assert.ok(shown.html.includes('see newsletters') && shown.html.includes('send mail') && !shown.html.includes('billing'))
  assert.ok(shown.html.includes('you are viewer'))
  const policy = shown.headers.get('content-security-policy') ?? ''
  assert.match(policy, /form-action 'self' https:\/\/app\.example;/)
  assert.match(policy, /frame-ancestors 'none'/)
})

test('an app on this computer, and one with a scheme of its own, are named as such, and the form may lead there', async () => {
  const person = await newPerson(app)
  const cases = {
    'http://127.0.0.1:45454/callback': [/runs on the computer in front of you/, "form-action 'self' http://127.0.0.1:45454;"],
    'http://[::1]:4000/back': [/runs on the computer in front of you/, "form-action 'self' http:;"],
    'cursor://anysphere.cursor-retrieval/oauth/callback': [/anysphere\.cursor-retrieval/, "form-action 'self' cursor:;"],
    'com.example.app:/back': [/<strong>com\.example\.app:<\/strong>/, "form-action 'self' com.example.app:;"],
  } as const
  for (const [redirect_uri, [words, action]] of Object.entries(cases)) {
    const config = await registerApp(app, { redirect_uris: [redirect_uri] })
    const flow = await begin(config, person.visitor, { redirect_uri })
    const shown = await person.visitor.get(flow.page)
    assert.match(shown.html, words)
    assert.ok(shown.headers.get('content-security-policy')?.includes(action), redirect_uri)
    assert.ok((await answer(person, flow)).href.startsWith(redirect_uri), redirect_uri)
  }
})

test('who is not signed in signs in first and is brought back', async () => {
  const config = await registerApp(app)
  const visitor = newVisitor(app.url)
  const { page } = await begin(config, visitor)
  const sent = await visitor.get(page)
  assert.equal(sent.status, 303)
  assert.equal(sent.location, `/sign-in?next=${encodeURIComponent(page)}`)
})

test('an app gets no more than the person may do there, and no more than was ticked', async () => {
  const person = await newPerson(app)
  const [small, large] = [await projectWith(app, person, 'viewer'), await projectWith(app, person, 'owner')]
  const config = await registerApp(app)
  const viewing = await letIn(config, person, { project: small.id })
  assert.equal(viewing.scope, 'read')
  assert.equal((await speaking(app.url, viewing.access_token).post('/lists', { name: 'No' })).status, 403)
  assert.deepEqual(await small.events(), [])
  const ticked = await letIn(config, person, { project: large.id, scope: ['read', 'write', 'nonsense'] })
  assert.equal(ticked.scope, 'read write')
  assert.equal((await speaking(app.url, ticked.access_token).get('/api/tokens')).status, 403)
  const asked = await letIn(config, person, { project: large.id, params: { scope: 'read' }, scope: ['read', 'admin'] })
  assert.equal(asked.scope, 'read')
  const refreshed = await client.refreshTokenGrant(config, viewing.refresh_token as string)
  assert.equal(refreshed.scope, 'read')
})

test('an app that names no scope asks for all of them', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const verifier = client.randomPKCECodeVerifier()
  const code_challenge = await client.calculatePKCECodeChallenge(verifier)
  const url = client.buildAuthorizationUrl(config, { redirect_uri: callback, code_challenge, code_challenge_method: 'S256' })
  const { location } = await person.visitor.get(url.href)
  const back = await answer(person, { page: location as string, verifier, state: '' })
  const tokens = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier })
  assert.equal(tokens.scope, 'read write send admin')
})

test('words of OpenID Connect are taken, and what nobody knows is passed over', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const exchange = async (params: Record<string, string>) => {
    const flow = await begin(config, person.visitor, params)
    const code = (await answer(person, flow)).searchParams.get('code') as string
    const { client_id } = config.clientMetadata()
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: callback,
      client_id,
      code_verifier: flow.verifier,
    })
    const response = await fetch(`${app.url}/oauth/token`, { method: 'POST', body })
    return (await response.json()) as { scope: string; access_token: string; id_token?: string }
  }
  const wide = await exchange({ scope: 'openid offline_access write strange', prompt: 'consent login', nonce: 'n' })
  assert.equal(wide.scope, 'write')
  const claims = JSON.parse(Buffer.from(String(wide.id_token).split('.')[1] as string, 'base64url').toString())
  assert.deepEqual([claims.sub, claims.nonce, claims.iss], [formatId('usr', person.user_id), 'n', app.config.AUTH_URL])
  const narrow = await exchange({ scope: 'openid' })
  assert.equal((await speaking(app.url, narrow.access_token).get('/lists')).status, 200)
  assert.equal((await speaking(app.url, narrow.access_token).post('/lists', { name: 'No' })).status, 403)
})

test('nothing is let in where nothing can be: no project, another’s project, no scope that is left', async () => {
  const person = await newPerson(app)
  const viewer = await projectWith(app, person, 'viewer')
  const foreign = await app.newProject()
  const config = await registerApp(app)
  const { page } = await begin(config, person.visitor, { scope: 'write send' })
  const shown = await person.visitor.get(page)
  for (const fields of [{ project: foreign.id }, { project: '' }, { project: viewer.id }, { scope: [] }]) {
    const { status, html } = await press(person.visitor, page, shown, fields)
    assert.equal(status, 422, JSON.stringify(fields))
    assert.match(html, /role="alert"/)
  }
  assert.deepEqual(await grantsOf(person.user_id), [])
})

test('a person who says no goes back with access_denied, and nothing is kept', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const flow = await begin(config, person.visitor)
  const back = await answer(person, flow, { decision: 'deny' })
  assert.equal(back.origin + back.pathname, callback)
  assert.equal(back.searchParams.get('error'), 'access_denied')
  assert.equal(back.searchParams.get('state'), flow.state)
  assert.equal(back.searchParams.get('code'), null)
  assert.deepEqual(await grantsOf(person.user_id), [])
})

test('another browser can neither see nor answer a request, nor pick up what came of it', async () => {
  const [alice, mallory] = [await newPerson(app), await newPerson(app)]
  const config = await registerApp(app)
  const { page } = await begin(config, alice.visitor)
  const shown = await alice.visitor.get(page)
  assert.equal((await mallory.visitor.get(page)).status, 404)
  const account: [string, string] = ['account', formatId('usr', mallory.user_id)]
  assert.equal((await mallory.visitor.post(page, [account, ['decision', 'allow'], ['scope', 'read']])).status, 404)
  // One of her own does not open his either.
  const own = await begin(config, mallory.visitor)
  await mallory.visitor.get(own.page)
  assert.equal((await mallory.visitor.get(page)).status, 404)

  const posted = await press(alice.visitor, page, shown)
  const stolen = await (await newPerson(app)).visitor.get(posted.location as string)
  assert.equal(stolen.status, 400)
  assert.match(stolen.html, /This cannot go on/)
  assert.equal(stolen.location, null)
  assert.equal((await alice.visitor.get(posted.location as string)).status, 303)
  assert.deepEqual(await grantsOf(mallory.user_id), [])
})

test('a page that was shown to one person is not answered by the next one in the same browser', async () => {
  const [alice, bob] = [await newPerson(app), await newPerson(app)]
  const config = await registerApp(app)
  const { page } = await begin(config, alice.visitor)
  const shown = await alice.visitor.get(page)
  for (const [name, value] of bob.visitor.cookies) alice.visitor.cookies.set(name, value)
  const posted = await press(alice.visitor, page, shown)
  assert.equal(posted.status, 422)
  assert.match(posted.html, /signed in as somebody else/)
  assert.ok(posted.html.includes(bob.email))
  assert.deepEqual([...(await grantsOf(alice.user_id)), ...(await grantsOf(bob.user_id))], [])
})

test('the next one to sign in in a browser is asked anew, and gets tokens of their own', async () => {
  const [alice, bob] = [await newPerson(app), await newPerson(app)]
  const config = await registerApp(app)
  await letIn(config, alice)
  for (const [name, value] of bob.visitor.cookies) alice.visitor.cookies.set(name, value)
  const tokens = await letIn(config, { ...bob, visitor: alice.visitor })
  const { body } = await speaking(app.url, tokens.access_token).get('/api/me')
  assert.equal(body.user.email, bob.email)
})

test('a form from another site is refused, and an answer counts once', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const { page } = await begin(config, person.visitor)
  const shown = await person.visitor.get(page)
  const account = formatId('usr', person.user_id)
  const foreign = await person.visitor.post(page, { account, decision: 'allow', scope: 'read' }, { origin: 'https://evil.example' })
  assert.equal(foreign.status, 403)
  const posted = await press(person.visitor, page, shown)
  assert.equal((await person.visitor.get(posted.location as string)).status, 303)
  assert.equal((await press(person.visitor, page, shown)).status, 404)
  assert.equal((await person.visitor.get(posted.location as string)).status, 400)
  assert.equal((await grantsOf(person.user_id)).length, 1)
})

test('apps are listed with what they may do, and one that is thrown out stops at once; others’ stay', async () => {
  const [alice, bob] = [await newPerson(app), await newPerson(app)]
  const project = await projectWith(app, alice, 'editor')
  const config = await registerApp(app, { client_name: 'Reader' })
  const tokens = await letIn(config, alice, { project: project.id })
  const { visitor } = alice
  assert.match((await visitor.get('/account/apps')).html, /Reader<\/h2>.*Test.*read, write, send.*not used yet/s)
  assert.equal((await speaking(app.url, tokens.access_token).get('/lists')).status, 200)
  await until('its use is noted', async () => /last used \d{4}-/.test((await visitor.get('/account/apps')).html))

  const grant = /name="grant" value="([^"]+)"/.exec((await visitor.get('/account/apps')).html)?.[1] as string
  assert.equal((await bob.visitor.post('/account/apps/revoke', { grant })).status, 303)
  assert.equal((await grantsOf(alice.user_id)).length, 1)
  assert.equal((await visitor.post('/account/apps/revoke', { grant }, { origin: 'https://evil.example' })).status, 403)
  const done = await visitor.post('/account/apps/revoke', { grant })
  assert.deepEqual([done.status, done.location], [303, '/account/apps'])
  await until('the token is refused', async () => (await speaking(app.url, tokens.access_token).get('/lists')).status === 401, {
    withinMs: 1_000,
  })
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token as string))
  const audit = await app.services.database.many<{ operation: string }>`
    select operation from audit_log where project_id = ${project.id} and user_id = ${alice.user_id} order by id`
  assert.deepEqual(
    audit.map((row) => row.operation),
    ['apps.allow', 'apps.revoke'],
  )
  assert.equal((await newVisitor(app.url).get('/account/apps')).location, '/sign-in?next=%2Faccount%2Fapps')
})
