import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../base/config.ts'
import { resourceMetadataPath } from '../base/well-known.ts'
import { paths, resourcesOf } from '../features/oauth/index.ts'
import { type Services, scopes } from '../operations/context.ts'
import { authMarkdown } from './auth-md.ts'

/** What a program reads before it knows anything about us: how to get a credential, as an app and as an agent. For anybody, from anywhere. */
export function addDiscovery(app: FastifyInstance, { config }: Services): void {
  const serve = (path: string, type: string, textFor: (request: FastifyRequest) => string) => {
    app.get(path, async (request, reply) =>
      reply
        .type(`${type}; charset=utf-8`)
        .headers({ 'access-control-allow-origin': '*', 'cache-control': 'public, max-age=3600' })
        .send(textFor(request)),
    )
    // A browser asks first when a page sends a header of its own, as MCP clients do.
    app.options(path, async (_request, reply) =>
      reply
        .code(204)
        .headers({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'GET',
          'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
          'access-control-max-age': '86400',
        })
        .send(),
    )
  }
  const json = (path: string, document: object) => {
    const text = JSON.stringify(document)
    serve(path, 'application/json', () => text)
  }

  json('/.well-known/oauth-authorization-server', authorizationServer(config))
  json('/.well-known/agent-configuration', agentConfiguration(config))
  const text = authMarkdown(config)
  serve('/auth.md', 'text/markdown', () => text)

  // Resources on hosts of their own may share a path: then the host that was asked tells which one is meant.
  const byPath = Map.groupBy(resourcesOf(config), resourceMetadataPath)
  for (const [path, resources] of byPath)
    serve(path, 'application/json', (request) =>
      JSON.stringify(
        protectedResource(config, resources.find((resource) => new URL(resource).host === request.host) ?? (resources[0] as string)),
      ),
    )
}

/** RFC 9728. */
const protectedResource = (config: Config, resource: string) => ({
  resource,
  resource_name: resource === config.MCP_URL ? 'Posthaste MCP server' : resource === config.API_URL ? 'Posthaste API' : 'Posthaste',
  resource_documentation: `${config.PUBLIC_URL}/reference`,
  authorization_servers: [config.AUTH_URL],
  scopes_supported: scopes,
  bearer_methods_supported: ['header'],
})

/** RFC 8414, with what agents need beside it. */
const authorizationServer = (config: Config) => ({
  issuer: config.AUTH_URL,
  authorization_endpoint: config.AUTH_URL + paths.authorize,
  token_endpoint: config.AUTH_URL + paths.token,
  registration_endpoint: config.AUTH_URL + paths.register,
  revocation_endpoint: config.AUTH_URL + paths.revoke,
  introspection_endpoint: config.AUTH_URL + paths.introspect,
  jwks_uri: config.AUTH_URL + paths.jwks,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
  scopes_supported: [...scopes, 'offline_access'],
  authorization_response_iss_parameter_supported: true,
  client_id_metadata_document_supported: true,
  service_documentation: `${config.PUBLIC_URL}/reference`,
  agent_auth: agentAuth(config),
})

/** How an agent gets a key without anybody at a screen: only what is switched on is promised. */
function agentAuth({ AUTH_URL, PUBLIC_URL, AGENT_SIGN_UPS }: Config) {
  const credential = { credential_types_supported: ['api_key'] }
  const isOpen = (kind: 'anonymous' | 'email') => AGENT_SIGN_UPS.includes(kind)
  return {
    skill: `${PUBLIC_URL}/auth.md`,
    register_uri: `${AUTH_URL}/agent/auth`,
    claim_uri: `${AUTH_URL}/agent/auth/claim`,
    identity_types_supported: [...(isOpen('anonymous') ? ['anonymous'] : []), ...(isOpen('email') ? ['identity_assertion'] : [])],
    ...(isOpen('anonymous') ? { anonymous: credential } : {}),
    ...(isOpen('email') ? { identity_assertion: { assertion_types_supported: ['verified_email'], ...credential } } : {}),
  }
}

/** The Agent Auth Protocol's first document (its section 5.1), honest about the rest of it: no agent keys of its own kind are taken. */
const agentConfiguration = (config: Config) => ({
  version: '1.0-draft',
  provider_name: 'Posthaste',
  description: 'Newsletters, mailboxes and transactional mail. Agents register themselves, get a mailbox, and may be claimed by a person.',
  issuer: config.AUTH_URL,
  default_location: config.API_URL,
  algorithms: [],
  modes: ['autonomous'],
  approval_methods: ['email_otp'],
  endpoints: {
    register: '/agent/auth',
    claim: '/agent/auth/claim',
    claim_complete: '/agent/auth/claim/complete',
    revoke: '/api/tokens/{id}',
  },
  jwks_uri: config.AUTH_URL + paths.jwks,
  agent_auth: agentAuth(config),
})
