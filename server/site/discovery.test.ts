import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../tests/support/posthaste.ts'
import { speaking } from '../../tests/support/project.ts'

const app = await startApp()
const { PUBLIC_URL: url } = app.config
const apart = await startApp({
  PUBLIC_URL: 'https://example.com',
  API_URL: 'https://api.example.com/v1',
  AUTH_URL: 'https://id.example.com',
  MCP_URL: 'https://mcp.example.com',
  AGENT_SIGN_UPS: 'anonymous',
})
const apartUrl = `http://127.0.0.1:${apart.config.PORT}`

const read = async (address: string, headers: Record<string, string> = {}) => {
  const response = await fetch(address, { headers })
  assert.equal(response.status, 200, address)
  assert.equal(response.headers.get('access-control-allow-origin'), '*', address)
  assert.equal(response.headers.get('cache-control'), 'public, max-age=3600', address)
  return response
}
/** A proxy on this machine says which host was asked. */
// biome-ignore lint/suspicious/noExplicitAny: what a test expects of a document, the assertion says
const asked = async (host: string, path: string): Promise<any> => (await read(apartUrl + path, { 'x-forwarded-host': host })).json()

const agentAuth = {
  skill: `${url}/auth.md`,
  register_uri: `${url}/agent/auth`,
  claim_uri: `${url}/agent/auth/claim`,
  identity_types_supported: ['anonymous', 'identity_assertion'],
  anonymous: { credential_types_supported: ['api_key'] },
  identity_assertion: { assertion_types_supported: ['verified_email'], credential_types_supported: ['api_key'] },
}

test('the authorization server describes itself, with what agents need', async () => {
  const response = await read(`${url}/.well-known/oauth-authorization-server`)
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
  assert.deepEqual(await response.json(), {
    issuer: url,
    authorization_endpoint: `${url}/oauth/authorize`,
    token_endpoint: `${url}/oauth/token`,
    registration_endpoint: `${url}/oauth/register`,
    revocation_endpoint: `${url}/oauth/revoke`,
    introspection_endpoint: `${url}/oauth/introspect`,
    jwks_uri: `${url}/oauth/jwks`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    scopes_supported: ['read', 'write', 'send', 'admin', 'offline_access'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: `${url}/reference`,
    agent_auth: agentAuth,
  })
})

test('each resource has metadata of its own, where RFC 9728 puts it, and names itself there exactly', async () => {
  const names = { '': [url, 'Posthaste'], '/v1': [`${url}/v1`, 'Posthaste API'], '/mcp': [`${url}/mcp`, 'Posthaste MCP server'] }
  for (const [path, [resource, resource_name]] of Object.entries(names))
    assert.deepEqual(await (await read(`${url}/.well-known/oauth-protected-resource${path}`)).json(), {
      resource,
      resource_name,
      resource_documentation: `${url}/reference`,
      authorization_servers: [url],
      scopes_supported: ['read', 'write', 'send', 'admin'],
      bearer_methods_supported: ['header'],
    })
})

test('resources on hosts of their own are told apart by the host', async () => {
  const path = '/.well-known/oauth-protected-resource'
  assert.equal((await asked('example.com', path)).resource, 'https://example.com')
  assert.equal((await asked('mcp.example.com', path)).resource, 'https://mcp.example.com')
  assert.equal((await asked('id.example.com', path)).resource, 'https://id.example.com')
  assert.equal((await asked('elsewhere.example', path)).resource, 'https://example.com')
  assert.equal((await asked('api.example.com', `${path}/v1`)).resource, 'https://api.example.com/v1')
  assert.deepEqual((await asked('mcp.example.com', path)).authorization_servers, ['https://id.example.com'])
})

test('a 401 points to the metadata of the resource that was asked, or that holds it', async () => {
  const pointer = async (where: string, path: string) =>
    /resource_metadata="([^"]+)"/.exec((await speaking(where, null).get(path)).headers.get('www-authenticate') ?? '')?.[1]
  assert.equal(await pointer(url, '/lists'), `${url}/.well-known/oauth-protected-resource`)
  assert.equal(await pointer(url, '/api/me'), `${url}/.well-known/oauth-protected-resource`)
  assert.equal(await pointer(apartUrl, '/lists'), 'https://api.example.com/.well-known/oauth-protected-resource/v1')
  assert.equal(await pointer(apartUrl, '/api/me'), 'https://id.example.com/.well-known/oauth-protected-resource')
  // As a strict client goes on: the document there must name what it had asked, or a part of it.
  const { resource } = (await (await read((await pointer(url, '/lists')) as string)).json()) as { resource: string }
  assert.ok(`${url}/v1/lists`.startsWith(`${resource}/`))
})

test('the agent configuration promises what there is', async () => {
  assert.deepEqual(await (await read(`${url}/.well-known/agent-configuration`)).json(), {
    version: '1.0-draft',
    provider_name: 'Posthaste',
    description:
      'Newsletters, mailboxes and transactional mail. Agents register themselves, get a mailbox, and may be claimed by a person.',
    issuer: url,
    default_location: `${url}/v1`,
    algorithms: [],
    modes: ['autonomous'],
    approval_methods: ['email_otp'],
    endpoints: {
      register: '/agent/auth',
      claim: '/agent/auth/claim',
      claim_complete: '/agent/auth/claim/complete',
      revoke: '/api/tokens/{id}',
    },
    jwks_uri: `${url}/oauth/jwks`,
    agent_auth: agentAuth,
  })
  const { agent_auth } = await asked('id.example.com', '/.well-known/agent-configuration')
  assert.deepEqual(agent_auth.identity_types_supported, ['anonymous'])
  assert.equal('identity_assertion' in agent_auth, false)
})

test('auth.md tells the way with addresses that are there', async () => {
  const response = await read(`${url}/auth.md`)
  assert.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8')
  const text = await response.text()
  for (const heading of ['Discover', 'Register', 'Be claimed', 'Use it', 'Pay when asked', 'When it fails'])
    assert.ok(text.includes(`\n## ${heading}\n`), heading)
  const gets = [...text.matchAll(/^curl (http\S+)$/gm)].map((match) => match[1] as string)
  assert.equal(gets.length, 3)
  for (const address of gets) await read(address)
  const posts = [...text.matchAll(/curl -X POST (http\S+) \\\n {2}-H 'Content-Type: application\/json' \\\n {2}-d '([^']+)'/g)]
  assert.ok(posts.length >= 5, text)
  // 404 and 405 would mean that the page leads nowhere, 422 that it shows a body that is not taken.
  for (const [, address, body] of posts) {
    const { status } = await fetch(address as string, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: body as string,
    })
    assert.ok([200, 201, 202, 401].includes(status), `${address} ${body}: ${status}`)
  }
  assert.ok(!(await (await read(`${apartUrl}/auth.md`)).text()).includes('identity_assertion'))
})

test('a page in a browser may read all of it, after asking first', async () => {
  for (const path of ['oauth-authorization-server', 'oauth-protected-resource', 'oauth-protected-resource/v1', 'agent-configuration']) {
    const headers = {
      origin: 'https://app.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'mcp-protocol-version',
    }
    const { status, headers: got } = await fetch(`${url}/.well-known/${path}`, { method: 'OPTIONS', headers })
    assert.equal(status, 204)
    assert.equal(got.get('access-control-allow-origin'), '*')
    assert.match(got.get('access-control-allow-headers') ?? '', /mcp-protocol-version/)
  }
})
