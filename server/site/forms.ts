import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../base/config.ts'
import { ApiError } from '../base/errors.ts'

const maxBytes = 16 * 1024

interface Accepting {
  /** A list's site may have a host of its own: what comes from the host that it goes to comes from there. Nobody is signed in on it. */
  isSite?: boolean
}

/** Lets the routes of this scope read HTML forms, and refuses what another site's page posts. For pages that act for who is signed in. */
export function acceptForms(
  app: FastifyInstance,
  config: Pick<Config, 'AUTH_URL' | 'PUBLIC_URL'>,
  { isSite = false }: Accepting = {},
): void {
  readForms(app)
  const own = new Set([config.AUTH_URL, config.PUBLIC_URL].map((url) => new URL(url).origin))
  app.addHook('onRequest', async (request) => {
    if (request.method === 'GET' || request.method === 'HEAD') return
    if (!isFrom(own, request) && !(isSite && isFromItsHost(request)))
      throw new ApiError('forbidden', 'This form was sent from another site. Open the page here and try again.')
  })
}

/** Forms from anywhere: each route says itself whom it listens to. */
export function readForms(app: FastifyInstance): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: maxBytes },
    async (_request: unknown, body: unknown) => {
      const fields = new URLSearchParams(String(body))
      if ([...fields.values()].some((value) => value.includes('\0')))
        throw new ApiError('validation_error', 'The form holds a NUL character.')
      return fields
    },
  )
}

/** Every browser says where a POST comes from; cookies are Lax besides. What is no browser has nobody's cookies to misuse. */
export const isFrom = (own: ReadonlySet<string>, { headers: { origin, 'sec-fetch-site': site } }: FastifyRequest): boolean =>
  origin === undefined ? site === undefined || site === 'same-origin' || site === 'none' : own.has(origin)

/** Its scheme may be the proxy's. */
export const isFromItsHost = ({ headers: { origin, host } }: FastifyRequest): boolean =>
  origin !== undefined && host !== undefined && URL.parse(origin)?.host === host.toLowerCase()

/** The field of a posted form, trimmed; '' when it is missing. */
export const fieldOf = (request: FastifyRequest, name: string): string =>
  request.body instanceof URLSearchParams ? (request.body.get(name) ?? '').trim() : ''
