import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as client from 'openid-client'
import { parseId } from '../server/base/ids.ts'
import { answer, begin, callback, letIn, newPerson, projectWith, registerApp } from './support/oauth.ts'
import { startApp } from './support/posthaste.ts'
import { speaking } from './support/project.ts'
import { until } from './support/until.ts'

const app = await startApp()
const api = (token: string, url = app.url) => speaking(url, token)

/** The next look at a token may still be the one before, for half a second. */
const refused = (token: string, url = app.url) =>
  until('the token is refused', async () => (await api(token, url).get('/lists')).status === 401, { withinMs: 1_000 })

const oauthError = (error: string) => (thrown: { error?: string }) => {
  assert.equal(thrown.error, error, String(thrown))
  return true
}

test('a stock client signs in: registers, is let in, works, refreshes, gives the token back', async () => {
  const person = await newPerson(app)
  const project = await projectWith(app, person, 'owner')
  const config = await registerApp(app)
  const flow = await begin(config, person.visitor, { resource: app.config.API_URL })
  const back = await answer(person, flow, { project: project.id })
  assert.equal(back.origin + back.pathname, callback)
  assert.equal(back.searchParams.get('iss'), app.config.AUTH_URL)
  const proof = { pkceCodeVerifier: flow.verifier, expectedState: flow.state }
  const tokens = await client.authorizationCodeGrant(config, back, proof, { resource: app.config.API_URL })
  assert.equal(tokens.scope, 'read write send admin')
  assert.equal(tokens.expires_in, 3600)

  const made = await api(tokens.access_token).post('/lists', { name: 'By an app' })
  assert.equal(made.status, 201)
  assert.deepEqual(await project.events(), ['mailbox.created', 'list.created'])
  const { body: me } = await api(tokens.access_token).get('/api/me')
  assert.equal(parseId('usr', me.user.id), person.user_id)
  assert.equal(parseId('prj', me.project.id), project.id)

  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token as string)
  assert.notEqual(fresh.access_token, tokens.access_token)
  assert.notEqual(fresh.refresh_token, tokens.refresh_token)
  assert.equal((await api(fresh.access_token).get('/lists')).status, 200)

  await client.tokenRevocation(config, fresh.refresh_token as string)
  await refused(fresh.access_token)
  await refused(tokens.access_token)
  await assert.rejects(client.refreshTokenGrant(config, fresh.refresh_token as string), oauthError('invalid_grant'))
})

test('a refresh token that is used twice ends all of its family', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const first = await letIn(config, person)
  const second = await client.refreshTokenGrant(config, first.refresh_token as string)
  assert.equal((await api(second.access_token).get('/lists')).status, 200)
  await assert.rejects(client.refreshTokenGrant(config, first.refresh_token as string), oauthError('invalid_grant'))
  await refused(second.access_token)
  await assert.rejects(client.refreshTokenGrant(config, second.refresh_token as string), oauthError('invalid_grant'))
  assert.match((await person.visitor.get('/account/apps')).html, /You have let no app in/)
})

test('of two uses of one refresh token at the same moment, one counts', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const { refresh_token } = await letIn(config, person)
  const outcomes = await Promise.allSettled([1, 2, 3].map(() => client.refreshTokenGrant(config, refresh_token as string)))
  assert.ok(outcomes.filter(({ status }) => status === 'fulfilled').length <= 1)
})

test('a code that is used twice ends what came of it', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const flow = await begin(config, person.visitor)
  const back = await answer(person, flow)
  const proof = { pkceCodeVerifier: flow.verifier, expectedState: flow.state }
  const tokens = await client.authorizationCodeGrant(config, back, proof)
  await assert.rejects(client.authorizationCodeGrant(config, back, proof), oauthError('invalid_grant'))
  await refused(tokens.access_token)
  await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token as string), oauthError('invalid_grant'))
})

test('a code and a refresh token are of no use to another app, and none to one without the verifier', async () => {
  const person = await newPerson(app)
  const [ours, theirs] = [await registerApp(app), await registerApp(app)]
  const flow = await begin(ours, person.visitor)
  const back = await answer(person, flow)
  const proof = { pkceCodeVerifier: flow.verifier, expectedState: flow.state }
  await assert.rejects(client.authorizationCodeGrant(theirs, back, proof), oauthError('invalid_grant'))
  const wrong = { ...proof, pkceCodeVerifier: client.randomPKCECodeVerifier() }
  await assert.rejects(client.authorizationCodeGrant(ours, back, wrong), oauthError('invalid_grant'))
  const tokens = await client.authorizationCodeGrant(ours, back, proof)
  await assert.rejects(client.refreshTokenGrant(theirs, tokens.refresh_token as string), oauthError('invalid_grant'))
  await client.tokenRevocation(theirs, tokens.access_token)
  assert.equal((await api(tokens.access_token).get('/lists')).status, 200)
  assert.deepEqual(await client.tokenIntrospection(theirs, tokens.access_token), { active: false })
})

test('an app may look at its own token, which says what it is good for now', async () => {
  const person = await newPerson(app)
  const project = await projectWith(app, person, 'editor')
  const config = await registerApp(app)
  const tokens = await letIn(config, person, { project: project.id })
  const seen = await client.tokenIntrospection(config, tokens.access_token)
  assert.equal(seen.active, true)
  assert.equal(seen.scope, 'read write send')
  assert.equal(seen.aud, app.config.API_URL)
  assert.equal(seen.iss, app.config.AUTH_URL)
  assert.equal(seen.client_id, config.clientMetadata().client_id)
  await app.services.database.run`delete from members where project_id = ${project.id} and user_id = ${person.user_id}`
  assert.deepEqual(await client.tokenIntrospection(config, tokens.access_token), { active: false })
  assert.deepEqual(await client.tokenIntrospection(config, 'nothing'), { active: false })
})

test('a token ends with the membership, the person, the project and the grant, and cannot be refreshed after', async () => {
  const { database } = app.services
  const ways: Record<string, (project: string, user: string) => Promise<unknown>> = {
    membership: (project, user) => database.run`delete from members where project_id = ${project} and user_id = ${user}`,
    person: (_project, user) => database.run`update users set disabled_at = now() where id = ${user}`,
    project: (project) => database.run`update projects set deleted_at = now() where id = ${project}`,
    grant: (project) => database.run`delete from oauth_grants where project_id = ${project}`,
  }
  for (const [way, end] of Object.entries(ways)) {
    const person = await newPerson(app)
    const project = await projectWith(app, person, 'owner')
    const config = await registerApp(app)
    const tokens = await letIn(config, person, { project: project.id })
    assert.equal((await api(tokens.access_token).get('/lists')).status, 200, way)
    await end(project.id, person.user_id)
    await refused(tokens.access_token)
    await assert.rejects(client.refreshTokenGrant(config, tokens.refresh_token as string), oauthError('invalid_grant'), way)
  }
})

test('a smaller role makes a smaller token at once', async () => {
  const person = await newPerson(app)
  const project = await projectWith(app, person, 'owner')
  const { access_token } = await letIn(await registerApp(app), person, { project: project.id })
  assert.equal((await api(access_token).post('/lists', { name: 'While owner' })).status, 201)
  await app.services.database.run`update members set role = 'viewer' where project_id = ${project.id} and user_id = ${person.user_id}`
  await until('writing is refused', async () => (await api(access_token).post('/lists', { name: 'Later' })).status === 403, {
    withinMs: 1_000,
  })
  assert.equal((await api(access_token).get('/lists')).status, 200)
})

test('a token for the MCP server does not open the API; one for the site does, with or without a slash', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app)
  const { MCP_URL, PUBLIC_URL, API_URL } = app.config
  const statuses: Record<string, number> = {}
  for (const resource of [MCP_URL, PUBLIC_URL, `${PUBLIC_URL}/`, API_URL]) {
    const { access_token } = await letIn(config, person, { params: { resource } })
    statuses[resource] = (await api(access_token).get('/lists')).status
  }
  assert.deepEqual(statuses, { [MCP_URL]: 401, [PUBLIC_URL]: 200, [`${PUBLIC_URL}/`]: 200, [API_URL]: 200 })
})

test('time ends tokens', async () => {
  const own = await startApp()
  const person = await newPerson(own)
  const { access_token } = await letIn(await registerApp(own), person)
  assert.equal((await api(access_token, own.url).get('/lists')).status, 200)
  own.clock.advance(3_601_000)
  assert.equal((await api(access_token, own.url).get('/lists')).status, 401)
})

test('two nodes on one database share apps, tokens and keys, and a revoked token stops on both within a second', async (t) => {
  // The same address for both, as behind a proxy that shares the work out.
  const second = await startApp({ PUBLIC_URL: app.url }, { connection: app.connection })
  t.after(() => second.stop())
  const secondUrl = `http://127.0.0.1:${second.config.PORT}`
  const person = await newPerson(app)
  const config = await registerApp(app)
  const tokens = await letIn(config, person)
  for (const url of [app.url, secondUrl]) assert.equal((await api(tokens.access_token, url).get('/lists')).status, 200)
  const [here, there] = await Promise.all(
    [app.url, secondUrl].map(async (url) => (await fetch(`${url}/oauth/jwks`)).json() as Promise<{ keys: { d?: string }[] }>),
  )
  assert.deepEqual(here, there)
  assert.deepEqual([here?.keys.length, here?.keys[0]?.d], [1, undefined])

  const refresh = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token as string,
    client_id: config.clientMetadata().client_id,
  })
  const response = await fetch(`${secondUrl}/oauth/token`, { method: 'POST', body: refresh })
  assert.equal(response.status, 200)
  const { access_token } = (await response.json()) as { access_token: string }
  for (const url of [app.url, secondUrl]) assert.equal((await api(access_token, url).get('/lists')).status, 200)
  await client.tokenRevocation(config, access_token)
  for (const url of [app.url, secondUrl]) await refused(access_token, url)
})

test('whoever reads the database finds no token in it', async () => {
  const person = await newPerson(app)
  const config = await registerApp(app, { token_endpoint_auth_method: 'client_secret_post' })
  const flow = await begin(config, person.visitor)
  const back = await answer(person, flow)
  const tokens = await client.authorizationCodeGrant(config, back, { pkceCodeVerifier: flow.verifier, expectedState: flow.state })
  const { client_secret } = config.clientMetadata()
  const secrets = [tokens.access_token, tokens.refresh_token, back.searchParams.get('code'), client_secret, flow.page.split('/').at(-1)]
  const { rows } = await app.services.database.execute(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  for (const { name } of rows)
    for (const secret of secrets) {
      assert.ok(typeof secret === 'string' && secret.length > 20)
      const hex = Buffer.from(secret).toString('hex')
      const found = await app.services.database.execute(`select 1 from "${name}" t where t::text like $1 or t::text like $2 limit 1`, [
        `%${secret}%`,
        `%${hex}%`,
      ])
      assert.deepEqual(found.rows, [], `${name} holds a secret`)
    }
})
