import type { Config } from '../base/config.ts'
import { resourceMetadataUrl } from '../base/well-known.ts'
import { scopes, scopeWords } from '../operations/context.ts'

/** The walkthrough that `agent_auth.skill` points at: an agent that reads this and nothing else gets as far as sending mail. */
export const authMarkdown = (config: Config): string =>
  [
    opening(config),
    ...(config.AGENT_SIGN_UPS.includes('off') ? [closed] : [register(config), claim(config)]),
    use(config),
    ...(config.PAYMENTS === 'off' ? [] : [pay(config)]),
    apps(config),
    failures,
  ].join('\n')

const post = (url: string, body: object): string => `curl -X POST ${url} \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body)}'`

const opening = (config: Config) => `# Getting a credential for Posthaste

Posthaste sends newsletters and mail, and gives you a mailbox. Every call to the API carries \`Authorization: Bearer <API_KEY>\`.

- API: ${config.API_URL} (described at ${config.API_URL}/openapi.json)
- Identity: ${config.AUTH_URL}

## Discover

\`\`\`sh
curl ${resourceMetadataUrl(config.API_URL)}
curl ${config.AUTH_URL}/.well-known/oauth-authorization-server
curl ${config.AUTH_URL}/.well-known/agent-configuration
\`\`\`

The first names the authorization server, the second its endpoints; \`agent_auth\` in it is what this page explains. A call without a
valid key answers 401, and its \`WWW-Authenticate\` header names such a document.
`

const closed = `## Register

Agents cannot register by themselves on this installation. Ask its operator for an API key.
`

const register = ({ AUTH_URL, AGENT_SIGN_UPS }: Config) => `## Register

${
  AGENT_SIGN_UPS.includes('anonymous')
    ? `By yourself. No human is needed:

\`\`\`sh
${post(`${AUTH_URL}/agent/auth`, { type: 'anonymous' })}
\`\`\`

The answer is \`{"ok": true, "data": {…}}\`. In \`data\`: \`credential\` (your API key, shown this once), \`user_id\`, \`scopes\`
(\`["read"]\`), \`mailbox\` (\`id\` and \`address\`: yours, you may send from it) and \`claim_token\`. Keep the key and the claim token
like passwords. You may go on like this for as long as you want.
`
    : ''
}${
  AGENT_SIGN_UPS.includes('email')
    ? `
For a human, when you know their address and they expect you:

\`\`\`sh
${post(`${AUTH_URL}/agent/auth`, { type: 'identity_assertion', assertions: [{ type: 'verified_email', email: 'human@example.com' }] })}
\`\`\`

\`data\` has a \`claim_token\` and \`verification_required: true\`: six digits went to that address. Ask the human for them and complete
the claim below; the key comes with it.
`
    : ''
}`

const claim = ({ AUTH_URL }: Config) => `## Be claimed

A human who claims you lets you write as well. First ask for a code, then send it:

\`\`\`sh
${post(`${AUTH_URL}/agent/auth/claim`, { claim_token: '<CLAIM_TOKEN>', email: 'human@example.com', link: false })}

${post(`${AUTH_URL}/agent/auth/claim/complete`, { claim_token: '<CLAIM_TOKEN>', otp: '123456' })}
\`\`\`

With \`link: false\` you are merged: what is yours becomes part of the human's account, and your key works there. With \`link: true\` you
stay an account of your own below the human's, who can see you, let you send, and switch you off. The answer has a new \`credential\`
with \`scopes\` \`["read", "write"]\`, and \`mode\` (\`merge\` or \`link\`). A code lives ten minutes and takes five tries.
`

const use = ({ API_URL, AUTH_URL }: Config) => `## Use it

\`\`\`sh
curl -H 'Authorization: Bearer <API_KEY>' ${AUTH_URL}/api/me
curl -H 'Authorization: Bearer <API_KEY>' ${API_URL}/lists
curl -X POST ${API_URL}/emails \\
  -H 'Authorization: Bearer <API_KEY>' \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: 7d1f0c52' \\
  -d '{"from":"<YOUR_MAILBOX>","to":"human@example.com","subject":"Hello","text":"From an agent."}'
\`\`\`

| Scope | Lets you |
|---|---|
${scopes.map((scope) => `| ${scope} | ${scopeWords[scope]} |`).join('\n')}

Without \`send\` you may still send from the mailbox that you were given, up to the free monthly allowance.

With the same \`Idempotency-Key\`, the same request sends nothing twice. \`X-RateLimit-Remaining\` on every answer tells how many more
requests this minute has.

To give your key back: \`curl -X DELETE -H 'Authorization: Bearer <API_KEY>' ${AUTH_URL}/api/tokens/<KEY_ID>\`; \`key_id\` is in \`/api/me\`.
`

const pay = ({ API_URL }: Config) => `## Pay when asked

A send over the month's allowance answers 402 with \`error.code\` \`limit_exceeded\` and a challenge of the HTTP Payment scheme:

\`\`\`
WWW-Authenticate: Payment id="…", realm="…", method="stripe", intent="charge", request="…", expires="…", digest="…", header="Payment-Authorization"
\`\`\`

Get a payment token for \`error.payment.amount\` (US cents), then send the very same request again, with the challenge and the token in
one more header:

\`\`\`sh
curl -X POST ${API_URL}/emails \\
  -H 'Authorization: Bearer <API_KEY>' \\
  -H 'Payment-Authorization: Payment <base64url of {"challenge":{…},"payload":{"spt":"<TOKEN>"}}>' \\
  -H 'Content-Type: application/json' \\
  -d '<THE SAME BODY, BYTE FOR BYTE>'
\`\`\`

\`challenge\` holds the parameters as they came. The answer carries \`Payment-Receipt\`. A challenge is good once and for one request.
`

const apps = ({ AUTH_URL, API_URL, MCP_URL }: Config) => `## Apps that people sign in to

An app with a human in front of it uses OAuth 2.1 instead: authorization code with PKCE (S256), refresh tokens that change with every
use, and \`resource\` (RFC 8707) to say what the token is for: \`${API_URL}\` or \`${MCP_URL}\`. Use a client ID metadata document as
\`client_id\`, or register:

\`\`\`sh
${post(`${AUTH_URL}/oauth/register`, { client_name: 'My app', redirect_uris: ['http://127.0.0.1/callback'] })}
\`\`\`
`

const failures = `## When it fails

The agent endpoints answer \`{"ok": false, "error": {"code": "…", "message": "…"}}\`, all others \`{"error": {"code": "…", "message": "…"}}\`.

| Status | Code | What to do |
|---|---|---|
| 400 | anonymous_not_enabled, verified_email_not_enabled | this way is switched off here; try the other one |
| 400 | otp_not_generated | ask for a code first |
| 401 | unauthorized | the key is mistyped, expired or revoked |
| 401 | invalid_claim_token | check the claim token |
| 401 | otp_invalid | wrong digits; five tries in all |
| 402 | limit_exceeded, spending_cap_reached | pay, or wait for the next month |
| 403 | forbidden | the key lacks the scope that the message names |
| 409 | claimed_or_in_flight, previously_claimed | somebody has claimed you already |
| 410 | otp_expired, otp_attempts_exceeded | ask for a new code |
| 410 | claim_expired | register once more |
| 422 | validation_error | the message names the field |
| 429 | rate_limited | wait as many seconds as \`Retry-After\` says |
`
