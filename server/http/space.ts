import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../base/errors.ts'

/**
 * The alternative base: /{owner}/{space}/v1/… reaches what /v1/… does, for credentials of that owner's space. To everybody else there
 * is nothing at that address.
 */
const spaces = new WeakMap<IncomingMessage, string>()

/** Takes the two segments off before the router looks, and remembers them. */
export function rewriteSpace(request: IncomingMessage): string {
  const url = request.url ?? '/'
  const match = /^\/([a-z0-9-]{1,64}\/[a-z0-9-]{1,64})(\/v1(?:[/?].*)?)$/.exec(url)
  if (!match) return url
  spaces.set(request, match[1] as string)
  return match[2] as string
}

export function refuseOtherSpace(request: FastifyRequest): void {
  if (request.caller) refuseUnlessOf(request.caller.space, request)
}

/** What is open to all at /v1 is not at every address that ends like it. */
export function refuseSpaceToStranger(request: FastifyRequest): void {
  if (!request.caller) refuseUnlessOf(null, request)
}

function refuseUnlessOf(own: string | null, { raw }: FastifyRequest): void {
  const space = spaces.get(raw)
  if (space === undefined || space === own) return
  throw new ApiError('not_found', 'There is no such space for this credential. GET /api/me tells which one it belongs to.')
}
