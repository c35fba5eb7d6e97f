import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../base/config.ts'
import { ApiError } from '../base/errors.ts'

const maxBytes = 16 * 1024

/** Lets the routes of this scope read HTML forms, and refuses what another site's page posts. For pages that act for who is signed in. */
export function acceptForms(app: FastifyInstance, config: Pick<Config, 'AUTH_URL' | 'PUBLIC_URL'>): void {
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
  const own = new Set([config.AUTH_URL, config.PUBLIC_URL].map((url) => new URL(url).origin))
  app.addHook('onRequest', async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') refuseOtherSites(request, own)
  })
}

/** Every browser says where a POST comes from; cookies are Lax besides. What is no browser has nobody's cookies to misuse. */
function refuseOtherSites({ headers: { origin, 'sec-fetch-site': site } }: FastifyRequest, own: Set<string>): void {
  const isOwn = origin === undefined ? site === undefined || site === 'same-origin' || site === 'none' : own.has(origin)
  if (!isOwn) throw new ApiError('forbidden', 'This form was sent from another site. Open the page here and try again.')
}

/** The field of a posted form, trimmed; '' when it is missing. */
export const fieldOf = (request: FastifyRequest, name: string): string =>
  request.body instanceof URLSearchParams ? (request.body.get(name) ?? '').trim() : ''
