import { Resolver } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { domainToASCII } from 'node:url'
import { reasonOf } from '../../base/errors.ts'
import { createGuardedFetch, type GuardedFetch } from '../../base/guarded-fetch/index.ts'
import { limitsOfHost } from '../domain-limits.ts'
import type { Endpoint, SmtpLimits } from '../smtp/endpoint.ts'
import type { SmtpResult } from '../smtp/job.ts'
import { SmtpError } from '../smtp/smtp-error.ts'
import { type Outgoing, SmtpPool } from '../smtp/smtp-pool.ts'
import { findMailHosts } from './mail-hosts.ts'
import { isListed, StsPolicies } from './mta-sts.ts'
import { createPublicLookup } from './public-lookup.ts'
import { parseDirectOptions } from './relay-url.ts'
import { toOutgoing, wrongAddress } from './smtp.ts'
import { bounced, deferred, outcomeOf } from './smtp-outcome.ts'
import type { AboutMessage, Envelope, Outcome, Transport } from './transport.ts'

export interface DirectSettings {
  /** What we greet with: MAIL_DOMAIN. */
  name: string
  dnsServers: string[]
  isPrivateAllowed: boolean
  limits?: Partial<SmtpLimits>
  /** Where servers take mail, and where they publish their policies: 25 and 443 but in tests. */
  smtp_port?: number
  policy_port?: number
}

/**
 * RFC 5321 section 4.5.3.2 for strangers' servers, some of which let everybody wait; a few connections to each, and not for long. Only the
 * greeting gets a minute in place of five: no server that means to take mail needs more, and those that do not are the many.
 */
const strangersLimits: Partial<SmtpLimits> = {
  connect_ms: 30_000,
  greeting_ms: 60_000,
  socket_ms: 300_000,
  dot_ms: 600_000,
  idle_ms: 5_000,
  max_connections: 5,
  max_messages: 100,
  longest_rest_ms: 300_000,
}

/** How long an answer of the DNS is believed. It also says how long one host of several with the same preference gets all the mail. */
const routeMs = 300_000
/** After this long no further host is tried for a message, so that its turn has an end. */
const searchMs = 120_000
const mostRoutes = 10_000
const mostPools = 1_000

/** Delivers to the servers of the recipients' domains. */
export const createDirectTransport = (outbound: string, settings: DirectSettings): Transport => {
  const { connections, rate } = parseDirectOptions(outbound)
  const own = { ...(connections ? { max_connections: connections } : {}), ...(rate ? { rate } : {}) }
  return new DirectTransport(settings, (host) => ({ ...strangersLimits, ...settings.limits, ...limitsOfHost(host), ...own }))
}

const required: Endpoint['tls'][] = ['required']
const optional: Endpoint['tls'][] = ['opportunistic', 'never']
const keyOf = (host: string, tls: Endpoint['tls']) => `${tls} ${host}`

type Route = { hosts: string[]; isEnforced: boolean } | { outcome: Outcome }

interface RouteEntry {
  route: Promise<Route>
  /** Once it is known. */
  found?: Route
  endsAt: number
}

class DirectTransport implements Transport {
  readonly name = 'direct'
  readonly #settings: DirectSettings
  readonly #limitsOf: (host: string) => Partial<SmtpLimits>
  readonly #resolver = new Resolver({ timeout: 5_000, tries: 3 })
  readonly #lookup: LookupFunction
  readonly #guardedFetch: GuardedFetch
  readonly #policies: StsPolicies
  readonly #routes = new Map<string, RouteEntry>()
  readonly #pools = new Map<string, SmtpPool>()
  #isClosed = false

  constructor(settings: DirectSettings, limitsOf: (host: string) => Partial<SmtpLimits>) {
    this.#settings = settings
    this.#limitsOf = limitsOf
    useServers(this.#resolver, settings.dnsServers)
    this.#lookup = createPublicLookup(this.#resolver, settings.isPrivateAllowed)
    const { dnsServers, isPrivateAllowed, policy_port: port = 443 } = settings
    this.#guardedFetch = createGuardedFetch({ dnsServers, isPrivateAllowed, ports: [port] })
    this.#policies = new StsPolicies({ resolver: this.#resolver, guardedFetch: this.#guardedFetch, port })
  }

  async send(envelope: Envelope, message: Buffer | readonly Buffer[], about: AboutMessage): Promise<Outcome> {
    const wrong = wrongAddress(envelope)
    if (wrong) return wrong
    const route = await this.#routeTo(envelope.to.slice(envelope.to.lastIndexOf('@') + 1))
    if ('outcome' in route) return route.outcome
    return outcomeOf(await this.#deliver(route, toOutgoing(envelope, message, about)), 'recipient')
  }

  hasRoomFor(name: string): boolean {
    const entry = this.#routes.get(name)
    if (!entry) return true
    // One is enough to wait for the DNS.
    if (!entry.found) return false
    if ('outcome' in entry.found) return true
    const { hosts, isEnforced } = entry.found
    for (const host of hosts) {
      const pools = (isEnforced ? required : optional).flatMap((tls) => this.#pools.get(keyOf(host, tls)) ?? [])
      if (pools.length === 0) return true
      const working = pools.filter(({ trouble }) => trouble === null)
      if (working.length > 0) return working.every(({ hasRoom }) => hasRoom)
    }
    // Nobody will be asked, which takes no time.
    return true
  }

  /** To one host after the other, until one has said something about the message, or may have it. */
  async #deliver({ hosts, isEnforced }: Exclude<Route, { outcome: Outcome }>, outgoing: Outgoing): Promise<SmtpResult> {
    const began = performance.now()
    let last: SmtpResult = { kind: 'failed', error: new SmtpError('dns', 'no host'), isUncertain: false }
    for (const host of hosts) {
      last = await this.#tryHost(host, isEnforced, outgoing)
      if (last.kind !== 'failed' || last.isUncertain || performance.now() - began > searchMs) return last
    }
    return last
  }

  async #tryHost(host: string, isEnforced: boolean, outgoing: Outgoing): Promise<SmtpResult> {
    if (isEnforced) return this.#tryPool(this.#poolOf(host, 'required'), outgoing)
    const result = await this.#tryPool(this.#poolOf(host, 'opportunistic'), outgoing)
    const isTlsBroken = result.kind === 'failed' && result.error.trouble === 'tls' && !result.isUncertain
    // RFC 7435: encryption that nobody insists on does not stand in the way of the mail.
    return isTlsBroken ? this.#tryPool(this.#poolOf(host, 'never'), outgoing) : result
  }

  /** A host that was out of reach a moment ago is not waited for: there may be another, and the mail keeps. */
  #tryPool(pool: SmtpPool, outgoing: Outgoing): Promise<SmtpResult> {
    const error = pool.trouble?.error ?? pool.doubt
    return error ? Promise.resolve({ kind: 'failed', error, isUncertain: false }) : pool.send(outgoing)
  }

  #poolOf(host: string, tls: Endpoint['tls']): SmtpPool {
    const key = keyOf(host, tls)
    const known = this.#pools.get(key)
    if (known) return known
    if (this.#pools.size >= mostPools) for (const [other, pool] of this.#pools) if (pool.isUnused) this.#pools.delete(other)
    const { name, smtp_port = 25 } = this.#settings
    const pool = new SmtpPool(
      { host, port: smtp_port, tls, login: null, mechanism: null, name, lookup: this.#lookup },
      this.#limitsOf(host),
    )
    this.#pools.set(key, pool)
    return pool
  }

  async #routeTo(name: string): Promise<Route> {
    if (this.#isClosed) return { outcome: deferred('The sender is shutting down', 'send after close') }
    const domain = domainToASCII(name).toLowerCase()
    if (domain === '') return { outcome: bounced(553, '5.1.2', 'The domain does not exist or takes no mail', `${name} is no domain name`) }
    const known = this.#routes.get(domain)
    if (known && known.endsAt > performance.now()) return known.route
    const entry: RouteEntry = {
      route: this.#findRoute(domain),
      endsAt: performance.now() + routeMs,
    }
    this.#routes.delete(domain)
    this.#routes.set(domain, entry)
    const [oldest] = this.#routes.keys()
    if (this.#routes.size > mostRoutes && oldest !== undefined) this.#routes.delete(oldest)
    const route = await entry.route
    entry.found = route
    // What the DNS could not say now it may say in a moment.
    if ('outcome' in route && route.outcome.kind === 'deferred') this.#routes.delete(domain)
    return route
  }

  async #findRoute(domain: string): Promise<Route> {
    const found = await findMailHosts(this.#resolver, domain)
    switch (found.kind) {
      case 'takes_none':
        return { outcome: bounced(556, '5.1.10', 'The domain takes no mail', `${domain} has a null MX (RFC 7505)`) }
      case 'no_domain':
        return { outcome: bounced(550, '5.1.2', 'The domain does not exist or takes no mail', `${domain} does not exist`) }
      case 'unknown':
        return { outcome: deferred('The mail server of the domain was not found', found.detail) }
    }
    const policy = await this.#policies.policyOf(domain)
    if (policy?.mode !== 'enforce') return { hosts: found.hosts, isEnforced: false }
    const hosts = found.hosts.filter((host) => isListed(policy, host))
    if (hosts.length > 0) return { hosts, isEnforced: true }
    const detail = `MTA-STS of ${domain} lists ${policy.mx.join(' ')}, its MX are ${found.hosts.join(' ')}`
    return { outcome: deferred('The mail servers of the domain are not those that it names in its policy', detail) }
  }

  /** Whether the DNS answers. Whether the network lets port 25 out only shows with the first message. */
  async verify(): Promise<void> {
    try {
      await this.#resolver.resolveMx(this.#settings.name)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOTFOUND' || code === 'ENODATA') return
      throw new Error(`The DNS does not answer; check the network and DNS_SERVERS. (${reasonOf(error)})`, { cause: error })
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#guardedFetch.close()
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()))
  }
}

function useServers(resolver: Resolver, servers: string[]): void {
  try {
    if (servers.length > 0) resolver.setServers(servers)
  } catch (error) {
    throw new Error(`DNS_SERVERS names no address that can be asked: ${servers.join(',')}; address or address:port is expected`, {
      cause: error,
    })
  }
}
