import type { FastifyReply, FastifyRequest } from 'fastify'
import { findSession, type SessionRow } from '../features/sessions/index.ts'
import type { Services } from '../operations/context.ts'
import { readCookie, setCookie } from './cookies.ts'

const cookieName = 'session'
const cookieSeconds = 30 * 24 * 3600

/** Who looks at the page, or null. */
export async function sessionOf(services: Services, request: FastifyRequest): Promise<SessionRow | null> {
  const secret = sessionSecretOf(services, request)
  return secret === null ? null : findSession(services, secret)
}

/** The same, and whoever is not signed in is sent to do so and brought back. Null means that the answer is already on its way. */
export async function requireSession(services: Services, request: FastifyRequest, reply: FastifyReply): Promise<SessionRow | null> {
  const secret = sessionSecretOf(services, request)
  const session = secret === null ? null : await findSession(services, secret)
  if (session?.isRenewed) keepSession(services, reply, secret as string)
  // A form cannot be sent again after signing in; the page that it is on can be opened again.
  if (!session) reply.redirect(`/sign-in?next=${encodeURIComponent(request.method === 'GET' ? request.url : '/account')}`, 303)
  return session
}

export const keepSession = (services: Services, reply: FastifyReply, secret: string): void =>
  setCookie(services.config, reply, { name: cookieName, value: secret, seconds: cookieSeconds })

export const forgetSession = (services: Services, reply: FastifyReply): void =>
  setCookie(services.config, reply, { name: cookieName, value: '', seconds: 0 })

export const sessionSecretOf = (services: Services, request: FastifyRequest): string | null =>
  readCookie(services.config, request, cookieName)
