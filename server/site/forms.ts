import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../base/config.ts'
import { ApiError } from '../base/errors.ts'

const maxBytes = 16 * 1024

/** Lets the routes of this scope read HTML forms, and refuses what another site's page posts. For pages that act for who is signed in. */
export function acceptForms(app: FastifyInstance, config: Pick<Config, 'AUTH_URL' | 'PUBLIC_URL'>): void {
  readForms(app)
  const own = new Set([config.AUTH_URL, config.PUBLIC_URL].map((url) => new URL(url).origin))
  app.addHook('onRequest', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseOtherSites(request, own)
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

function refuseOtherSites(request: FastifyRequest, own: ReadonlySet<string>): void {
  if (!isFromHere(request, own)) throw new ApiError('forbidden', 'This form was sent from another site. Open the page here and try again.')
}

/**
 * Every browser says where a POST comes from; cookies are Lax besides. What is no browser has nobody's cookies to misuse. A site of a list has
 * a host of its own: what comes from the host that it goes to comes from here.
 */
export function isFromHere({ headers }: FastifyRequest, own: ReadonlySet<string> = new Set()): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers
  if (origin === undefined) return site === undefined || site === 'same-origin' || site === 'none'
  return own.has(origin) || (host !== undefined && URL.parse(origin)?.host === host.toLowerCase())
}

/** The field of a posted form, trimmed; '' when it is missing. */
export const fieldOf = (request: FastifyRequest, name: string): string =>
  request.body instanceof URLSearchParams ? (request.body.get(name) ?? '').trim() : ''
