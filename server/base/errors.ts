/** Every failure that a caller may read: its code and its status. The only table that knows both. */
const statusByCode = {
  anonymous_not_enabled: 400,
  otp_not_generated: 400,
  unsupported_credential_type: 400,
  verified_email_not_enabled: 400,
  invalid_claim_token: 401,
  otp_invalid: 401,
  unauthorized: 401,
  limit_exceeded: 402,
  spending_cap_reached: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  already_subscribed: 409,
  claimed_or_in_flight: 409,
  conflict: 409,
  previously_claimed: 409,
  claim_expired: 410,
  otp_attempts_exceeded: 410,
  otp_expired: 410,
  payload_too_large: 413,
  validation_error: 422,
  rate_limited: 429,
  internal_error: 500,
  provider_error: 502,
  service_unavailable: 503,
} as const

export type ErrorCode = keyof typeof statusByCode

export const statusOf = (code: ErrorCode): number => statusByCode[code]

interface ErrorDetail {
  /** What the log may say and the caller may not. */
  cause?: unknown
  /** The input field that was wrong, as the caller wrote it: `subscribers[3].email`. */
  field?: string
  headers?: Record<string, string>
  /** Further members of `error` in the body, for programs to go on with. */
  members?: Record<string, unknown>
  /** RFC 9457: makes the body a problem document as well. */
  problem?: { type: string; title: string; challengeId?: string }
}

/** A failure with a public side (code and message) and a private one (cause). Anything else thrown is a 500. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly field: string | undefined
  readonly headers: Record<string, string>
  readonly members: Record<string, unknown>
  readonly problem: ErrorDetail['problem']

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, { cause: detail.cause })
    this.name = 'ApiError'
    this.code = code
    this.field = detail.field
    this.headers = detail.headers ?? {}
    this.members = detail.members ?? {}
    this.problem = detail.problem
  }

  get status(): number {
    return statusOf(this.code)
  }
}

/** 422 that names the field first: "email: is not an e-mail address". */
export const invalid = (field: string, problem: string): ApiError => new ApiError('validation_error', `${field}: ${problem}`, { field })

/** The same answer for what never existed and for what belongs to somebody else. */
export const notFound = (thing: string): ApiError =>
  new ApiError('not_found', `This ${thing} does not exist. Check the id, and that the key belongs to the right project.`)

/** What the person at the terminal can mend: shown as it is, without a trace. Anything else that ends the program is a bug. */
export class OperatorError extends Error {}

/** What went wrong in words: an error of several addresses tried in turn has no message of its own. */
export const reasonOf = (error: unknown): string =>
  error instanceof AggregateError ? error.errors.map(reasonOf).join('; ') : (error as Error).message
