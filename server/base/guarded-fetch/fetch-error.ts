/** Where a fetch may not go: the form of the address, or where its name leads. The message is for whoever gave the address. */
export class FetchRefused extends Error {
  override readonly name = 'FetchRefused'
}

export type FailureKind =
  /** The name does not resolve. */
  | 'dns'
  /** Nobody took the connection, or it broke. */
  | 'connection'
  /** No encryption, or a certificate that does not hold. */
  | 'tls'
  /** What came back is not HTTP within our limits. */
  | 'protocol'
  /** The time for the whole exchange was over. */
  | 'timeout'

/** A fetch without an answer. The message is for whoever gave the address and says what they can mend; the cause is for the log. */
export class FetchFailed extends Error {
  override readonly name = 'FetchFailed'
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

type Reason = [kind: FailureKind, predicate: string]

/** What the codes of Node, OpenSSL and llhttp mean to somebody who runs the other end; each goes on from the host's name. */
const reasons: Record<string, Reason> = {
  ECONNREFUSED: ['connection', 'refused the connection'],
  ECONNRESET: ['connection', 'closed the connection before its answer was complete'],
  EPIPE: ['connection', 'closed the connection before its answer was complete'],
  ERR_STREAM_PREMATURE_CLOSE: ['connection', 'closed the connection before its answer was complete'],
  ETIMEDOUT: ['connection', 'did not take the connection in time'],
  EHOSTUNREACH: ['connection', 'cannot be reached from here'],
  ENETUNREACH: ['connection', 'cannot be reached from here'],
  EADDRNOTAVAIL: ['connection', 'cannot be reached from here'],
  ERR_TLS_CERT_ALTNAME_INVALID: ['tls', 'answered with a certificate for another name'],
  CERT_HAS_EXPIRED: ['tls', 'answered with a certificate that has expired'],
  CERT_NOT_YET_VALID: ['tls', 'answered with a certificate that is not valid yet'],
  CERT_REVOKED: ['tls', 'answered with a certificate that was revoked'],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['tls', 'answered with a certificate that it signed itself'],
  SELF_SIGNED_CERT_IN_CHAIN: ['tls', 'answered with a certificate of an authority that is not known here'],
  UNABLE_TO_GET_ISSUER_CERT: ['tls', 'answered with a certificate whose chain is not complete'],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ['tls', 'answered with a certificate of an authority that is not known here, or without its chain'],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ['tls', 'answered with a certificate of an authority that is not known here, or without its chain'],
  HPE_HEADER_OVERFLOW: ['protocol', 'answered with more headers than are read'],
}

/** What c-ares says when a name was looked up. */
const noAddress = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

export function lookUpFailureOf(host: string, error: unknown): FetchFailed {
  const predicate = noAddress.has(codeOf(error))
    ? 'does not resolve: the DNS has no address for it'
    : 'could not be looked up: its name servers do not answer'
  return new FetchFailed('dns', `the name ${host} ${predicate}`, error)
}

/** The failure in words for the owner of the other end. What is ours already stays as it is. */
export function failureOf(host: string, error: unknown): Error {
  if (error instanceof FetchRefused || error instanceof FetchFailed) return error
  const [kind, predicate] = reasonFor(codeOf(error))
  return new FetchFailed(kind, `${host} ${predicate}`, error)
}

/** Several addresses that were tried in turn fail as one: the first of them speaks for all. */
function codeOf(error: unknown): string {
  const { code, errors } = error as NodeJS.ErrnoException & { errors?: unknown[] }
  const [first] = errors ?? []
  return first ? codeOf(first) : (code ?? '')
}

function reasonFor(code: string): Reason {
  const known = reasons[code]
  if (known) return known
  if (code.startsWith('HPE_')) return ['protocol', 'answered with something that is not HTTP']
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return ['tls', 'could not agree with us on TLS: it needs version 1.2 or newer']
  if (code.includes('CERT')) return ['tls', 'answered with a certificate that does not hold']
  return ['connection', 'could not be reached']
}
