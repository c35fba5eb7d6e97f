import { Resolver } from 'node:dns/promises'
import { connect } from 'node:net'
import type { Config } from '../base/config.ts'
import { reasonOf } from '../base/errors.ts'
import { portProblem } from '../base/port.ts'
import { isForTrials } from '../base/trial-name.ts'
import { createTransport, relayPlaces } from '../delivery/transports/index.ts'
import { createDns } from '../dns/index.ts'
import { lookAtReturnTarget } from '../features/senders/index.ts'
import { lookAtSiteTarget } from '../features/site-domains/index.ts'
import { type Check, within } from './doctor-check.ts'

const answerMs = 3_000

export async function checkHttpPort({ HOST, PORT, ROLES }: Config): Promise<Check> {
  const name = 'http port'
  if (!ROLES.includes('http')) return { name, state: 'good', seen: `not needed: ROLES is ${ROLES.join(',')}` }
  const problem = await portProblem(HOST, PORT)
  if (problem === null) return { name, state: 'good', seen: `${PORT} is free` }
  if (problem !== 'EADDRINUSE')
    return {
      name,
      state: 'bad',
      seen: `${HOST}, port ${PORT} cannot be opened (${problem})`,
      next: 'Choose another: PORT=8081, or another HOST.',
    }
  const status = await askReadiness(HOST, PORT)
  if (status === 'ready') return { name, state: 'good', seen: `${PORT} is a running Posthaste, ready` }
  if (status !== null)
    return { name, state: 'warning', seen: `${PORT} is a running Posthaste: ${status}`, next: 'Wait a moment; its log tells more.' }
  return { name, state: 'bad', seen: `${PORT} is in use by another program`, next: 'Stop that, or choose another: PORT=8081.' }
}

export async function checkSmtpPort({ SMTP_HOST, SMTP_PORT, MAIL_DOMAIN, ROLES }: Config): Promise<Check> {
  const name = 'smtp port'
  if (!ROLES.includes('inbound')) return { name, state: 'good', seen: `not needed: ROLES is ${ROLES.join(',')}` }
  const problem = await portProblem(SMTP_HOST, SMTP_PORT)
  if (problem === null) return { name, state: 'good', seen: `${SMTP_PORT} is free` }
  if (problem !== 'EADDRINUSE')
    return {
      name,
      state: 'bad',
      seen: `${SMTP_HOST}, port ${SMTP_PORT} cannot be opened (${problem})`,
      next: 'Choose another: SMTP_PORT=2526, or another SMTP_HOST.',
    }
  // Our own says no more than this; others add what they are.
  if ((await greetingAt(SMTP_HOST, SMTP_PORT)) === `220 ${MAIL_DOMAIN} ESMTP`)
    return { name, state: 'good', seen: `${SMTP_PORT} is a running Posthaste, which greets as ${MAIL_DOMAIN}` }
  return { name, state: 'warning', seen: `${SMTP_PORT} is in use`, next: 'If that is not Posthaste, choose another: SMTP_PORT=2526.' }
}

/** The first line that a server says; null when it says none, as one that waits for a PROXY line does. */
function greetingAt(host: string, port: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>()
  const socket = connect({ host: thisMachine(host), port })
  let heard = ''
  socket.setTimeout(answerMs, () => resolve(null))
  socket.on('data', (bytes) => {
    heard += bytes.toString('latin1')
    if (heard.includes('\n') || heard.length > 1_000) resolve(heard.split('\r\n')[0] ?? null)
  })
  socket.on('error', () => resolve(null))
  socket.on('close', () => resolve(null))
  return promise.finally(() => socket.destroy())
}

/** What listens on all addresses is reached by one of them. */
const thisMachine = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)

/** What /readyz says, or null when that is no answer of ours. */
async function askReadiness(host: string, port: number): Promise<string | null> {
  const reachable = host.includes(':') ? `[${thisMachine(host)}]` : thisMachine(host)
  try {
    const response = await fetch(`http://${reachable}:${port}/readyz`, { signal: AbortSignal.timeout(answerMs) })
    const { status, reason, trouble } = (await response.json()) as { status?: unknown; reason?: unknown; trouble?: unknown }
    if (status === 'ready') return trouble === undefined ? 'ready' : String(trouble)
    return status === 'not ready' ? String(reason) : null
  } catch {
    // Not HTTP, not JSON or no answer: another program's port.
    return null
  }
}

export async function checkDns({ MAIL_DOMAIN, DNS_SERVERS }: Config): Promise<Check> {
  const name = 'dns'
  if (isForTrials(MAIL_DOMAIN)) return { name, state: 'good', seen: `${MAIL_DOMAIN} is a name for trials, and not looked up` }
  const servers = DNS_SERVERS.length > 0 ? DNS_SERVERS.join(', ') : 'the system’s servers'
  try {
    const resolver = new Resolver({ timeout: answerMs, tries: 2 })
    if (DNS_SERVERS.length > 0) resolver.setServers(DNS_SERVERS)
    const found = await within(3 * answerMs, resolver.resolveMx(MAIL_DOMAIN))
    const hosts = found.toSorted((a, b) => a.priority - b.priority).map((mx) => `${mx.priority} ${mx.exchange}`)
    return { name, state: 'good', seen: `${MAIL_DOMAIN} has MX ${hosts.join(', ')} (${servers})` }
  } catch (error) {
    const { code = reasonOf(error) } = error as NodeJS.ErrnoException
    if (code === 'ENOTFOUND' || code === 'ENODATA')
      return {
        name,
        state: 'warning',
        seen: `${MAIL_DOMAIN} has no MX record (${servers})`,
        next: 'Add one that names this host: replies and bounces come by it.',
      }
    return {
      name,
      state: 'bad',
      seen: `no answer about ${MAIL_DOMAIN} from ${servers} (${code})`,
      next: 'Check the network, and DNS_SERVERS.',
    }
  }
}

/** What senders' domains need of the operator's. */
export async function checkReturnPath(config: Config): Promise<Check> {
  const name = 'return path'
  if (isForTrials(config.MAIL_DOMAIN)) return { name, state: 'good', seen: `${config.MAIL_DOMAIN} is a name for trials, and not looked up` }
  const dns = createDns({ servers: config.DNS_SERVERS })
  const { state, seen, next } = await lookAtReturnTarget(dns, config).finally(() => dns.close())
  return { name, state: state === 'good' ? 'good' : 'warning', seen, ...(next !== null && { next }) }
}

/** What the domains of sites need of the operator's. */
export async function checkSiteTarget(config: Config): Promise<Check> {
  const name = 'site target'
  const { SITE_TARGET, ROLES, DNS_SERVERS } = config
  if (!ROLES.includes('http')) return { name, state: 'good', seen: `not needed: ROLES is ${ROLES.join(',')}` }
  if (isForTrials(SITE_TARGET)) return { name, state: 'good', seen: `${SITE_TARGET} is a name for trials, and not looked up` }
  const dns = createDns({ servers: DNS_SERVERS })
  const { state, seen, next } = await lookAtSiteTarget(dns, config).finally(() => dns.close())
  return { name, state: state === 'good' ? 'good' : 'warning', seen, ...(next !== null && { next }) }
}

export async function checkOutbound({ OUTBOUND, MAIL_DOMAIN, DNS_SERVERS }: Config): Promise<Check> {
  const name = 'outbound mail'
  const store = async () => {}
  try {
    const transport = createTransport(OUTBOUND, { storeCapturedMessage: store, mailDomain: MAIL_DOMAIN, dnsServers: DNS_SERVERS })
    await transport.verify().finally(() => transport.close())
    if (OUTBOUND === 'capture')
      return {
        name,
        state: 'warning',
        seen: 'OUTBOUND=capture: mail is kept and shown, never sent',
        next: 'Set OUTBOUND=smtp://… to send.',
      }
    if (transport.name === 'direct') return { name, state: 'good', seen: 'mail goes to the recipients’ own servers; the DNS answers' }
    if (transport.name === 'ses') return { name, state: 'good', seen: 'Amazon SES takes mail' }
    const relays = relayPlaces(OUTBOUND)
    return {
      name,
      state: 'good',
      seen: relays.length === 1 ? `the relay ${relays[0]} takes mail` : `the relays ${relays.join(', ')} take mail`,
    }
  } catch (error) {
    return { name, state: 'bad', seen: reasonOf(error), next: 'Check OUTBOUND: host, port, user and password.' }
  }
}
