import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../base/config.ts'
import { rememberBriefly } from '../../base/recent.ts'
import { reservedNames } from '../../base/slug.ts'

/** The name of the list whose site a host is; null when it is none. */
export type FindByHost = (host: string) => Promise<string | null>

export interface SiteHosts {
  /** The address that the router looks for: a site's pages are at /s/{subdomain}/…, whatever host they are asked from. Null: as it came. */
  rewrite(request: IncomingMessage): string | null
  /** What asks about hosts that nobody has asked about lately. */
  addRoutes(app: FastifyInstance): void
}

const askPath = '/-/site-of-host'
/** A proxy that gets certificates on demand asks here first, `?domain=blog.example.com`: 200 when the domain is a site's. */
const proxyPath = '/-/is-site'
const trustedForMs = 500
const maxRemembered = 10_000
/** What belongs to the host itself: proofs for certificates above all. */
const notOfSite = /^\/(?:\.well-known|healthz|readyz)(?:[/?]|$)/

/** Requests that came by a site's own host: links on their pages begin at its root. */
const byHost = new WeakSet<IncomingMessage>()

/** On such a host there is nothing but the site. */
export const isAtSite = ({ raw }: Pick<FastifyRequest, 'raw'>): boolean => byHost.has(raw)

/** Where the pages of the site begin, for links: '' on a host of its own. */
export const baseOf = (request: Pick<FastifyRequest, 'raw'>, subdomain: string): string => (isAtSite(request) ? '' : `/s/${subdomain}`)

/**
 * Which site a request is for, by its Host. A router takes no time to ask the database: a host that is nobody's for certain is let through, a
 * subdomain of ours says itself whose it is, and any other is asked about first, by a route that then hands the request to the router again.
 */
export function createSiteHosts(config: Config, findByHost: FindByHost): SiteHosts {
  const own = new Set([config.PUBLIC_URL, config.API_URL, config.AUTH_URL, config.MCP_URL].map((url) => new URL(url).hostname))
  const suffix = subdomainSuffix(config)
  const known = new Map<string, { subdomain: string | null; until: number }>()
  const asked = new WeakSet<IncomingMessage>()
  const findBriefly = rememberBriefly(findByHost)

  const siteAt = (request: IncomingMessage, subdomain: string): string => {
    byHost.add(request)
    return `/s/${subdomain}${request.url ?? '/'}`
  }
  const remember = (host: string, subdomain: string | null): void => {
    if (known.size >= maxRemembered) known.clear()
    known.set(host, { subdomain, until: performance.now() + trustedForMs })
  }

  return {
    rewrite(request) {
      const host = hostOf(request)
      if (host === null || own.has(host) || notOfSite.test(request.url ?? '')) return null
      const label = suffix !== null && host.endsWith(suffix) ? host.slice(0, -suffix.length) : null
      if (label !== null && !reservedNames.has(label)) return /^[a-z\d-]+$/.test(label) ? siteAt(request, label) : null
      const found = known.get(host)
      if (found && (found.until > performance.now() || asked.has(request)))
        return found.subdomain === null ? null : siteAt(request, found.subdomain)
      return asked.has(request) ? null : askPath
    },
    addRoutes(app) {
      app.all(askPath, {
        config: { isCounted: false },
        // Before a byte of the body is read: whoever it is for reads it.
        onRequest: async ({ raw }, reply) => {
          const host = hostOf(raw)
          if (asked.has(raw) || host === null) return
          asked.add(raw)
          remember(host, await findByHost(host))
          reply.hijack()
          raw.url = (raw as IncomingMessage & { originalUrl: string }).originalUrl
          app.routing(raw, reply.raw)
        },
        handler: async (_request, reply) => reply.callNotFound(),
      })
      app.get<{ Querystring: { domain?: string } }>(proxyPath, { config: { isCounted: false } }, async ({ query }, reply) => {
        const host = nameIn(String(query.domain ?? ''))
        const found = host !== null && (own.has(host) || (await findBriefly(host)) !== null)
        reply.header('cache-control', 'no-store').type('text/plain; charset=utf-8')
        return reply.code(found ? 200 : 404).send(found ? 'Yes.\n' : 'No site here has this domain.\n')
      })
    },
  }
}

/** In small letters, without port and final dot; null for what is no name of a site: an IP address, a name without a dot. */
const hostOf = ({ headers }: IncomingMessage): string | null => nameIn(headers.host ?? '')

function nameIn(text: string): string | null {
  const host = text.replace(/:\d+$/, '').replace(/\.$/, '').toLowerCase()
  return host.includes('.') && /^[\w.-]{3,253}$/.test(host) && !isIP(host) ? host : null
}

/** `.example.com`, or null where there can be no subdomains. */
function subdomainSuffix({ PUBLIC_URL }: Pick<Config, 'PUBLIC_URL'>): string | null {
  const { hostname } = new URL(PUBLIC_URL)
  return isIP(hostname.replace(/^\[|\]$/g, '')) ? null : `.${hostname}`
}
