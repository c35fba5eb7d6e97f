import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../base/errors.ts'
import { refuseUnstorable } from '../operations/check-input.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The body as it came, for digests. */
    rawBody: Buffer | null
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Escapes that can spell what PostgreSQL refuses: NUL, and halves of surrogate pairs. Worth a walk only when present. */
const suspicious = /\\u(0000|d[89a-f])/i

/** JSON is read whole and checked; CSV goes through as a stream. Anything else is refused by Fastify, and said in errors.ts. */
export function acceptBodies(app: FastifyInstance): void {
  app.decorateRequest('rawBody', null)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    request.rawBody = body
    return parseJson(body)
  })
  app.addContentTypeParser('text/csv', async (_request: unknown, payload: unknown) => payload)
}

export function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  let text: string
  try {
    text = utf8.decode(body)
  } catch (cause) {
    throw new ApiError('validation_error', 'body: is not valid UTF-8', { field: 'body', cause })
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ApiError('validation_error', `body: is not valid JSON (${(cause as Error).message})`, { field: 'body', cause })
  }
  if (suspicious.test(text)) refuseUnstorable(value, '')
  return value
}
