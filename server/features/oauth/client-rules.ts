import { errors } from 'oidc-provider'

const maxRedirects = 20
const maxUriLength = 2000
const maxNameLength = 100
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** An address on the machine that the browser runs on. */
export const isLoopbackUri = (uri: string): boolean => {
  const parsed = URL.parse(uri)
  return parsed !== null && /^https?:$/.test(parsed.protocol) && loopback.has(parsed.hostname)
}

/**
 * What we ask of an app beyond the library's own checks, whether it registers or publishes a document about itself. Those come after,
 * so nothing is known yet of what has come, not even its types.
 */
export function checkClient({ client_name: name = '', redirect_uris: uris = [] }: Record<string, unknown>): void {
  if (typeof name !== 'string' || name.length > maxNameLength || /[\p{Cc}\p{Cf}]/u.test(name))
    throw new errors.InvalidClientMetadata(`client_name must be one line of at most ${maxNameLength} characters`)
  if (!Array.isArray(uris) || uris.length > maxRedirects)
    throw new errors.InvalidClientMetadata(`redirect_uris must be a list of at most ${maxRedirects}`)
  for (const uri of uris) {
    const problem = redirectProblem(uri)
    if (problem !== null) throw new errors.InvalidClientMetadata(`redirect_uris ${problem}`)
  }
}

function redirectProblem(uri: unknown): string | null {
  const parsed = typeof uri === 'string' && uri.length <= maxUriLength ? URL.parse(uri) : null
  if (!parsed) return `must be addresses of at most ${maxUriLength} characters`
  if (parsed.username || parsed.password) return 'must not hold a name or a password'
  // A code that crosses the network in the clear is anybody's (OAuth 2.1 section 1.5).
  return parsed.protocol === 'http:' && !isLoopbackUri(parsed.href) ? 'must be https, unless they lead to the same machine' : null
}
