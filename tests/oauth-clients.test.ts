import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as client from 'openid-client'
import { isPublicAddress } from '../server/base/public-address.ts'
import { hashOfSecret } from '../server/base/secrets.ts'
import { pruneOAuth } from '../server/features/oauth/index.ts'
import { type HttpsPeer, startHttpsPeer } from './support/https-peer.ts'
import { begin, callback, letIn, newPerson, registerApp } from './support/oauth.ts'
import { startApp } from './support/posthaste.ts'
import { speaking } from './support/project.ts'
import { newVisitor } from './support/visitor.ts'

const app = await startApp()

const register = async (metadata: object, url = app.url) => {
  const response = await fetch(`${url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  })
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, unknown> }
}

const challenge = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const authorize = (params: Record<string, string>) =>
  newVisitor(app.url).get(`/oauth/authorize?${new URLSearchParams({ response_type: 'code', scope: 'read', ...challenge, ...params })}`)

test('an app registers with little, and gets what it needs', async () => {
  const { status, body, headers } = await register({ redirect_uris: [callback], client_name: 'Little', software_id: 'x' })
  assert.equal(status, 201)
  assert.equal(headers.get('access-control-allow-origin'), '*')
  assert.equal(body.token_endpoint_auth_method, 'none')
  assert.deepEqual(body.grant_types, ['authorization_code', 'refresh_token'])
  assert.deepEqual(body.redirect_uris, [callback])
  assert.equal(body.software_id, 'x')
  assert.equal(body.client_secret, undefined)
  const secretive = await register({ redirect_uris: [callback], token_endpoint_auth_method: 'client_secret_basic' })
  assert.ok(String(secretive.body.client_secret).length > 40)
})

test('what no app may register', async () => {
  const long = 'x'.repeat(2100)
  const cases: [object, string][] = [
    [{ redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['vbscript:x'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['file:///etc/passwd'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['https://app.example/#part'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['http://app.example/back'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['http://app.example/back'], application_type: 'web' }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['https://me:secret@app.example/back'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: [`https://app.example/${long}`] }, 'invalid_redirect_uri'],
    [{ redirect_uris: Array.from({ length: 21 }, (_, at) => `https://app.example/${at}`) }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['not an address'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: [] }, 'invalid_redirect_uri'],
    [{ redirect_uris: [callback], client_name: 'two\nlines' }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], client_name: 'safe\u202egnp.exe' }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], client_name: 'x'.repeat(101) }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], grant_types: ['implicit'], response_types: ['token'] }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], sector_identifier_uri: 'https://app.example/list' }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], jwks_uri: 'https://app.example/keys' }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], software_id: 'x'.repeat(201) }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], scope: `read ${'x'.repeat(200)}` }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], logo_uri: `https://app.example/${long}` }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], contacts: Array.from({ length: 21 }, (_, at) => `${at}@app.example`) }, 'invalid_client_metadata'],
    [{ redirect_uris: [callback], contacts: [`${long}@app.example`] }, 'invalid_client_metadata'],
    [{ redirect_uris: Array.from({ length: 5 }, (_, at) => `https://app.example/${at}${long.slice(200)}`) }, 'invalid_client_metadata'],
    [{ redirect_uris: 'x' }, 'invalid_redirect_uri'],
    [[], 'invalid_request'],
  ]
  for (const [metadata, error] of cases) {
    const { status, body } = await register(metadata)
    assert.deepEqual([status, body.error], [400, error], `${JSON.stringify(metadata).slice(0, 120)}: ${JSON.stringify(body)}`)
  }
  const huge = await register({ redirect_uris: [callback], client_name: 'x'.repeat(60_000) })
  assert.equal(huge.status, 400)
})

test('nobody is sent to an address that the app did not register', async () => {
  const { body } = await register({ redirect_uris: ['https://app.example/back'] })
  const client_id = String(body.client_id)
  const strange = [
    'https://evil.example/back',
    'https://app.example/back/',
    'https://app.example/back?x=1',
    'https://app.example/other/../back',
    'https://app.example/%62ack',
    'https://app.example.evil.example/back',
    'https://app.example@evil.example/back',
    'https://app.example:8443/back',
    'http://app.example/back',
    'https://APP.example/back',
    'https://app.example/back#x',
    '//evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'http://127.0.0.1:9/back',
  ]
  for (const redirect_uri of strange) {
    const { status, location, html } = await authorize({ client_id, redirect_uri })
    assert.equal(location, null, redirect_uri)
    assert.equal(status, 400, redirect_uri)
    assert.match(html, /This cannot go on/)
  }
  const unknown = await authorize({ client_id: 'nobody', redirect_uri: 'https://evil.example' })
  assert.deepEqual([unknown.status, unknown.location], [400, null])
  assert.equal((await authorize({ client_id, redirect_uri: 'https://app.example/back' })).status, 303)
})

test('an app on the person’s machine may listen on any port there, at the path that it registered', async () => {
  const { body } = await register({ redirect_uris: ['http://127.0.0.1/callback'] })
  const client_id = String(body.client_id)
  assert.match((await authorize({ client_id, redirect_uri: 'http://127.0.0.1:51234/callback' })).location ?? '', /^\/oauth\/interaction\//)
  for (const redirect_uri of ['http://127.0.0.1:51234/other', 'http://localhost:51234/callback', 'https://127.0.0.1:51234/callback'])
    assert.deepEqual([(await authorize({ client_id, redirect_uri })).location, redirect_uri], [null, redirect_uri])
})

test('addresses come from the configuration, whatever Host or proxy says, and a browser elsewhere may call the endpoints', async () => {
  const { body } = await register({ redirect_uris: [callback] })
  const params = new URLSearchParams({ response_type: 'code', client_id: String(body.client_id), redirect_uri: callback, ...challenge })
  const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' }
  const visit = await fetch(`${app.url}/oauth/authorize?${params}`, { headers, redirect: 'manual' })
  assert.match(visit.headers.get('location') ?? '', /^\/oauth\/interaction\//)
  for (const cookie of visit.headers.getSetCookie()) assert.match(cookie, /httponly/i)
  const preflight = await fetch(`${app.url}/oauth/token`, {
    method: 'OPTIONS',
    headers: { origin: 'https://web.example', 'access-control-request-method': 'POST' },
  })
  assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*'])
  const token = await fetch(`${app.url}/oauth/token`, {
    method: 'POST',
    headers: { origin: 'https://web.example' },
    body: new URLSearchParams({ grant_type: 'password' }),
  })
  assert.equal(token.headers.get('access-control-allow-origin'), '*')
  assert.match(token.headers.get('x-ratelimit-limit') ?? '', /^\d+$/)
  assert.ok(token.headers.get('x-request-id'))
})

test('behind https, its cookies are for https alone', async () => {
  const secure = await startApp({ AUTH_URL: 'https://id.example.com' })
  const { body } = await register({ redirect_uris: [callback] }, secure.url)
  const params = new URLSearchParams({ response_type: 'code', client_id: String(body.client_id), redirect_uri: callback, ...challenge })
  const visit = await fetch(`${secure.url}/oauth/authorize?${params}`, { redirect: 'manual' })
  assert.equal(visit.status, 303)
  assert.equal(visit.headers.getSetCookie().length, 4)
  for (const cookie of visit.headers.getSetCookie()) assert.match(cookie, /; secure; httponly/i)
})

test('one address may register only so many apps an hour, and ask only so often', async () => {
  const strict = await startApp({ APP_REGISTRATIONS_PER_HOUR: '2', RATE_LIMIT_PER_MINUTE: '20' })
  const statuses = []
  for (let at = 0; at < 3; at++) statuses.push(await register({ redirect_uris: [callback] }, strict.url))
  assert.deepEqual(
    statuses.map(({ status }) => status),
    [201, 201, 429],
  )
  assert.equal(statuses[2]?.headers.get('retry-after'), '3600')
  assert.equal(statuses[2]?.body.error, 'temporarily_unavailable')
  strict.clock.advance(3_601_000)
  assert.equal((await register({ redirect_uris: [callback] }, strict.url)).status, 201)
  // What was refused by one count must not use up the other.
  const counted = await strict.services.database.many`select peer, count(*) from oauth_registrations group by peer order by peer`
  assert.deepEqual(counted, [
    { peer: 'everybody', count: 3 },
    { peer: 'ip:127.0.0.1', count: 3 },
  ])
  let last = 0
  for (let at = 0; at < 21; at++) last = (await fetch(`${strict.url}/oauth/token`, { method: 'POST' })).status
  assert.equal(last, 429)
})

test('all addresses together may register twenty times as many apps an hour as one', async () => {
  const strict = await startApp({ APP_REGISTRATIONS_PER_HOUR: '1' })
  const from = (address: string) =>
    fetch(`${strict.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
      body: JSON.stringify({ redirect_uris: [callback] }),
    })
  for (let at = 1; at <= 20; at++) assert.equal((await from(`198.51.100.${at}`)).status, 201)
  const refused = await from('198.51.100.21')
  assert.equal(refused.status, 429)
  assert.match(await refused.text(), /Only 20 apps may register from all addresses together/)
  assert.deepEqual((await strict.services.database.many`select 1 from oauth_records where model = 'Client'`).length, 20)
  strict.clock.advance(3_601_000)
  assert.equal((await from('198.51.100.21')).status, 201)
})

test('an app that nobody let in is forgotten after thirty days, and so is what has ended', async () => {
  const own = await startApp()
  const person = await newPerson(own)
  const [used, unused] = [await registerApp(own), await registerApp(own)]
  const tokens = await letIn(used, person)
  const { database } = own.services
  const isKept = async (config: client.Configuration) =>
    (await database.first`select 1 from oauth_records where model = 'Client' and id_hash = ${hashOfSecret(config.clientMetadata().client_id)}`) !==
    null
  await pruneOAuth.run(own.services, {})
  assert.deepEqual([await isKept(used), await isKept(unused)], [true, true])
  own.clock.advance(29 * 86_400_000)
  await pruneOAuth.run(own.services, {})
  assert.deepEqual([await isKept(used), await isKept(unused)], [true, true])
  own.clock.advance(2 * 86_400_000)
  await pruneOAuth.run(own.services, {})
  // The refresh token went unused for a month, so nothing can use the grant, and nobody the app.
  assert.deepEqual([await isKept(used), await isKept(unused)], [false, false])
  assert.deepEqual(await database.many`select 1 from oauth_grants`, [])
  assert.deepEqual(await database.many`select model from oauth_records`, [])
  assert.equal((await speaking(own.url, tokens.access_token).get('/lists')).status, 401)
})

/** Publishes documents about apps. */
const publish = (documentAt: (url: string) => object): Promise<HttpsPeer> =>
  startHttpsPeer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(documentAt(`https://${request.headers.host}${request.url}`)))
  })

test('an app may publish who it is, and is let in by that address', async (t) => {
  const open = await startApp({ ALLOW_PRIVATE_WEBHOOKS: 'true' })
  const peer = await publish((client_id) => ({
    client_id: client_id.endsWith('/liar') ? 'https://bank.example/app' : client_id,
    client_name: 'Published app',
    redirect_uris: [client_id.endsWith('/clear') ? 'http://app.example/back' : callback],
  }))
  t.after(peer.stop)
  const person = await newPerson(open)
  const config = await client.discovery(new URL(open.url), `${peer.url}/app`, undefined, client.None(), {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
  })
  assert.equal(config.serverMetadata().client_id_metadata_document_supported, true)
  const { page } = await begin(config, person.visitor)
  const { html } = await person.visitor.get(page)
  assert.match(html, /Let Published app in\?/)
  assert.ok(html.includes(`published by <strong>${new URL(peer.url).host}</strong>`))
  const tokens = await letIn(config, person)
  assert.equal((await speaking(open.url, tokens.access_token).get('/lists')).status, 200)
  assert.equal((await client.refreshTokenGrant(config, tokens.refresh_token as string)).scope, 'read write send admin')
  // Read once, and remembered for a while.
  assert.deepEqual(peer.asked, ['/app'])
  for (const path of ['/liar', '/clear']) {
    const query = new URLSearchParams({ response_type: 'code', client_id: peer.url + path, redirect_uri: callback, ...challenge })
    const { status, location } = await person.visitor.get(`/oauth/authorize?${query}`)
    assert.deepEqual([status, location], [400, null], path)
  }
})

test('what an app publishes is not read from this machine or its network', async (t) => {
  const peer = await publish((client_id) => ({ client_id, client_name: 'Inside', redirect_uris: [callback] }))
  t.after(peer.stop)
  for (const client_id of [`${peer.url}/app`, `${peer.url.replace('localhost', '127.0.0.1')}/app`, 'https://[::1]:1/app']) {
    const { status, location } = await authorize({ client_id, redirect_uri: callback })
    assert.deepEqual([status, location], [400, null], client_id)
  }
  assert.deepEqual(peer.asked, [])
})

test('which addresses are on the open internet', () => {
  const inside =
    '127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 ::1 :: ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8 ::7f00:1 64:ff9b::7f00:1 2002:7f00:1:: fe80::1 fc00::1 fd12::1 ff02::1 2001:db8::1'
  const outside = '8.8.8.8 1.1.1.1 172.32.0.1 100.128.0.1 ::ffff:8.8.8.8 2606:4700::1111 2a00:1450::1'
  for (const ip of inside.split(' ')) assert.equal(isPublicAddress(ip), false, ip)
  for (const ip of outside.split(' ')) assert.equal(isPublicAddress(ip), true, ip)
})
