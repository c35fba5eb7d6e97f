import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../base/config.ts'
import { isLocalUrl } from '../base/local-url.ts'

type Urls = Pick<Config, 'AUTH_URL'>

/** Browsers hold a __Host- cookie to this one host and to encryption; they take localhost for encrypted. */
const isSecure = ({ AUTH_URL }: Urls): boolean => AUTH_URL.startsWith('https:') || isLocalUrl(AUTH_URL)
const nameOf = (config: Urls, name: string): string => (isSecure(config) ? `__Host-${name}` : name)

export function readCookie(config: Urls, request: FastifyRequest, name: string): string | null {
  const wanted = `${nameOf(config, name)}=`
  const found = (request.headers.cookie ?? '').split('; ').filter((part) => part.startsWith(wanted))
  // Two of one name: somebody planted one of them.
  return found.length === 1 ? (found[0] as string).slice(wanted.length) : null
}

/** Lax: not sent with what other sites post here. `seconds` 0 removes it. */
export function setCookie(
  config: Urls,
  reply: FastifyReply,
  { name, value, seconds }: { name: string; value: string; seconds: number },
): void {
  const secure = isSecure(config) ? '; Secure' : ''
  const cookie = `${nameOf(config, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure}`
  // The framework adds this header to those that are there.
  reply.header('set-cookie', cookie)
}
