import { errors } from 'oidc-provider'

const maxItems = 20
const maxUriLength = 2000
const maxTextLength = 200
const maxNameLength = 100
const maxBytes = 8 * 1024
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** An address on the machine that the browser runs on. */
export const isLoopbackUri = (uri: string): boolean => {
  const parsed = URL.parse(uri)
  return parsed !== null && /^https?:$/.test(parsed.protocol) && loopback.has(parsed.hostname)
}

/** A place on the device that the browser runs on: a port of it, or an app that has a scheme of its own (RFC 8252 section 7). */
export const isOnDevice = (uri: string): boolean => isLoopbackUri(uri) || !/^https?:/i.test(uri)

/**
 * What we ask of an app beyond the library's own checks, whether it registers or publishes a document about itself. Those come after,
 * so nothing is known yet of what has come, not even its types.
 */
export function checkClient(metadata: Record<string, unknown>): void {
  const { client_name: name = '', redirect_uris: uris = [] } = metadata
  if (typeof name !== 'string' || name.length > maxNameLength || /[\p{Cc}\p{Cf}]/u.test(name))
    throw new errors.InvalidClientMetadata(`client_name must be one line of at most ${maxNameLength} characters`)
  if (!Array.isArray(uris) || uris.length > maxItems)
    throw new errors.InvalidClientMetadata(`redirect_uris must be a list of at most ${maxItems}`)
  for (const problem of [...uris.map(redirectProblem), ...Object.entries(metadata).map(fieldProblem)])
    if (problem !== null) throw new errors.InvalidClientMetadata(problem)
  if (Buffer.byteLength(JSON.stringify(metadata)) > maxBytes)
    throw new errors.InvalidClientMetadata(`all fields together must have at most ${maxBytes} bytes`)
}

/** Addresses that the library would read from, for what is switched off here: names of people by sector, and keys of apps. */
const neverRead = new Set(['sector_identifier_uri', 'jwks_uri'])

function fieldProblem([name, value]: [string, unknown]): string | null {
  if (neverRead.has(name)) return `${name} has no use here; leave it out`
  const max = name === 'client_id' || /_uris?$/.test(name) ? maxUriLength : maxTextLength
  const isTooLong = (text: unknown) => typeof text === 'string' && text.length > max
  if (isTooLong(value)) return `${name} must have at most ${max} characters`
  if (!Array.isArray(value)) return null
  if (value.length > maxItems) return `${name} must be a list of at most ${maxItems}`
  return value.some(isTooLong) ? `${name} must hold texts of at most ${max} characters` : null
}

function redirectProblem(uri: unknown): string | null {
  const parsed = typeof uri === 'string' && uri.length <= maxUriLength ? URL.parse(uri) : null
  if (!parsed) return `redirect_uris must be addresses of at most ${maxUriLength} characters`
  if (parsed.username || parsed.password) return 'redirect_uris must not hold a name or a password'
  // A code that crosses the network in the clear is anybody's (OAuth 2.1 section 1.5).
  return parsed.protocol === 'http:' && !isLoopbackUri(parsed.href)
    ? 'redirect_uris must be https, unless they lead to the same machine'
    : null
}
