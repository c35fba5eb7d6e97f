import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, invalid } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { isConnectionLoss } from '../database/database.ts'

/** Shows a failure to who looks at pages; null where a program asked, which gets the contract's error. */
export type ShowError = (failure: ApiError, request: FastifyRequest, reply: FastifyReply) => FastifyReply | null

interface ErrorParts {
  services: { log: Log }
  showError: ShowError
}

/** Turns whatever was thrown into the contract's error. The only place where a failure becomes a status. */
export function sendError(
  { services: { log }, showError }: ErrorParts,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const failure = toApiError(error)
  const about = { request_id: request.id, method: request.method, route: request.routeOptions.url, ...reasonFor(error) }
  // Whoever hung up gets no answer, and nothing is wrong with us.
  if (request.raw.aborted) log.debug(about, 'the client left')
  else if (failure.code === 'internal_error') log.error({ ...about, stack: (error as Error)?.stack }, 'request failed')
  else if (failure.status >= 500) log.warn(about, 'request failed')
  const page = showError(failure, request, reply)
  if (page) return page
  return reply
    .code(failure.status)
    .headers(failure.headers)
    .type(failure.problem ? 'application/problem+json' : 'application/json; charset=utf-8')
    .send(JSON.stringify(isEnveloped(request) ? { ok: false, ...errorBody(failure) } : errorBody(failure)))
}

/** The agent endpoints answer `{ ok, data }` and `{ ok, error }`, and so does what is asked beside them. */
export const isEnveloped = (request: FastifyRequest): boolean =>
  request.routeOptions.config.isEnveloped === true || request.url.startsWith('/agent/')

/** Not the error itself: what PostgreSQL says in its `detail` quotes the row, addresses included. */
const reasonFor = (error: unknown) => {
  const { message, code, constraint } = error as { message?: string; code?: string; constraint?: string }
  return { reason: message, code, constraint }
}

export const errorBody = ({ code, message, status, members, problem }: ApiError) => ({
  ...(problem ? { ...problem, status, detail: message } : {}),
  error: { code, message, ...members },
})

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return fromFastify(error as FastifyError) ?? fromDatabase(error) ?? internal(error)
}

export const tooLarge = () =>
  new ApiError(
    'payload_too_large',
    'The body is larger than this operation takes. Send less at a time; an import of any size goes as text/csv.',
  )

function fromFastify(error: FastifyError): ApiError | null {
  switch (error?.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return tooLarge()
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return invalid('Content-Type', 'must be application/json (imports take text/csv too)')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalid('Content-Length', 'does not match the body')
    case 'FST_ERR_BAD_URL':
      return invalid('path', 'is not valid percent-encoding')
    default:
      return isClientFault(error) ? invalid('request', error.message) : null
  }
}

/** The framework's own refusals: a method it does not know, a header it cannot read. */
const isClientFault = (error: FastifyError): boolean => String(error?.code).startsWith('FST_') && (error.statusCode ?? 500) < 500

/** What PostgreSQL refuses because of the value given: text that no encoding holds, numbers and times out of range. */
const refusedValues = /^(22021|22P05|22003|22008|22007|22P02|54001)$/

/** A plan made stale by a newer release's migration, a statement that took too long, a full disk or memory, a standby: it will pass. */
const passing = new Set(['0A000', '57014', '53100', '53200', '25006'])

function fromDatabase(error: unknown): ApiError | null {
  if (isConnectionLoss(error) || passing.has(String((error as { code?: string })?.code))) {
    return new ApiError('service_unavailable', 'The database cannot serve this just now. Try again in a few seconds.', {
      cause: error,
      headers: { 'retry-after': '2' },
    })
  }
  if (refusedValues.test(String((error as { code?: string })?.code)))
    return new ApiError('validation_error', 'A value in the request cannot be stored.', { cause: error })
  return null
}

const internal = (cause: unknown) =>
  new ApiError('internal_error', 'Something went wrong on our side. The X-Request-Id of this answer finds it in the log.', { cause })
