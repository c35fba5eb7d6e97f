/** What became of a request, as the authority says it (RFC 8555 section 6.7), or as we see it when it says nothing of use. */
export type ProblemType = 'unreachable' | 'malformedAnswer' | (string & {})

interface ProblemDetail {
  status?: number
  /** How long the authority asks us to wait. */
  retryAfterMs?: number | null
  cause?: unknown
}

/** A request that came to nothing. `type` is the last part of `urn:ietf:params:acme:error:…`. */
export class AcmeProblem extends Error {
  readonly type: ProblemType
  readonly status: number
  readonly retryAfterMs: number | null

  constructor(type: ProblemType, message: string, { status = 0, retryAfterMs = null, cause }: ProblemDetail = {}) {
    super(message, { cause })
    this.name = 'AcmeProblem'
    this.type = type
    this.status = status
    this.retryAfterMs = retryAfterMs
  }

  /** It says nothing about what was asked for: the same may work later. */
  get isPassing(): boolean {
    return passing.has(this.type) || this.status >= 500
  }
}

const passing = new Set(['unreachable', 'malformedAnswer', 'badNonce', 'rateLimited', 'serverInternal'])

/** RFC 9110 section 10.2.3: seconds, or a date. Null for neither. */
export function retryAfterMs(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
