import { hostname } from 'node:os'
import type { Endpoint, SmtpLimits } from '../smtp/endpoint.ts'
import { isSafePath, type SmtpResult } from '../smtp/job.ts'
import { SmtpError } from '../smtp/smtp-error.ts'
import { type Outgoing, SmtpPool } from '../smtp/smtp-pool.ts'
import { parseRelays, type Relay, type RelayOptions } from './relay-url.ts'
import { bounced, deferred, outcomeOf, outcomeOfError } from './smtp-outcome.ts'
import type { AboutMessage, Envelope, Outcome, Transport } from './transport.ts'

export type { SmtpLimits } from '../smtp/endpoint.ts'

/** Sends through the relays of OUTBOUND, over connections that stay open between messages. `name` is what we call ourselves. */
export const createSmtpTransport = (outbound: string, limits: Partial<SmtpLimits> = {}, name = ownName()): Transport => {
  const relays = parseRelays(outbound)
  return new RelayTransport(relays.map((one) => toMember(one, { limits, name, isAlone: relays.length === 1 })))
}

interface Member {
  relay: Relay
  weight: number
  pool: SmtpPool
  /** The smooth weighted round: grows by the weight each time, and shrinks by the sum of all when chosen. */
  credit: number
}

class RelayTransport implements Transport {
  readonly name = 'smtp'
  readonly #members: Member[]

  constructor(members: Member[]) {
    this.#members = members
  }

  async send(envelope: Envelope, message: Buffer | readonly Buffer[], about: AboutMessage): Promise<Outcome> {
    const wrong = wrongAddress(envelope)
    if (wrong) return wrong
    return outcomeOf(await this.#deliver(toOutgoing(envelope, message, about)), 'relay')
  }

  /** To one relay after the other, until one has said something about the message, or may have it. */
  async #deliver(outgoing: Outgoing): Promise<SmtpResult> {
    const untried = new Set(this.#members)
    for (;;) {
      const member = choose([...untried])
      untried.delete(member)
      const result = await member.pool.send(outgoing)
      const isForAnother = result.kind === 'failed' && !result.isUncertain && result.error.trouble !== 'shutdown'
      if (!isForAnother || untried.size === 0) return result
    }
  }

  /** Every relay must answer: one that never does would only be noticed when the others fail. */
  async verify(): Promise<void> {
    for (const { relay, pool } of this.#members) {
      try {
        await pool.verify()
      } catch (error) {
        const failure = error instanceof SmtpError ? error : new SmtpError('broken', String(error))
        const { reason, detail } = outcomeOfError(failure, 'relay')
        throw new Error(`${reason}. (${relay.host}:${relay.port}: ${detail})`, { cause: error })
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map(({ pool }) => pool.close()))
  }
}

/** By weight among those that work; when none does, the one that is tried again soonest. */
function choose(members: Member[]): Member {
  const working = members.filter(({ pool }) => pool.trouble === null)
  if (working.length === 0)
    return members.reduce((first, other) => ((other.pool.trouble?.endsAt ?? 0) < (first.pool.trouble?.endsAt ?? 0) ? other : first))
  for (const member of working) member.credit += member.weight
  const chosen = working.reduce((first, other) => (other.credit > first.credit ? other : first))
  chosen.credit -= working.reduce((sum, { weight }) => sum + weight, 0)
  return chosen
}

/** What no server needs to be asked about. */
export function wrongAddress(envelope: Envelope): Outcome | null {
  if (!isSafePath(envelope.from)) return deferred('The sender address is not valid', `MAIL FROM ${JSON.stringify(envelope.from)}`)
  if (isSafePath(envelope.to) && envelope.to.includes('@')) return null
  return bounced(553, '5.1.3', 'The address is not valid', `RCPT TO ${JSON.stringify(envelope.to)}`)
}

export const toOutgoing = (envelope: Envelope, message: Buffer | readonly Buffer[], about: AboutMessage): Outgoing => ({
  from: envelope.from,
  to: envelope.to,
  message,
  lane: about.lane,
  isDotSafe: about.isDotSafe,
  onAccepted: about.onAccepted,
  onWritten: about.onWritten,
  isStillWanted: about.isStillWanted,
})

interface MemberSettings {
  limits: Partial<SmtpLimits>
  name: string
  isAlone: boolean
}

function toMember({ relay, options }: { relay: Relay; options: RelayOptions }, { limits, name, isAlone }: MemberSettings): Member {
  const endpoint: Endpoint = {
    host: relay.host,
    port: relay.port,
    // smtps:// verifies the certificate. smtp:// encrypts when it can (RFC 7435): whoever can forge a certificate can also hide
    // the offer of STARTTLS, so insisting would protect nobody and turn away the many relays with a certificate of their own making.
    tls: relay.is_implicit_tls ? 'implicit' : 'opportunistic',
    login: relay.login,
    mechanism: options.auth,
    name,
    lookup: null,
  }
  const own = { ...(options.connections ? { max_connections: options.connections } : {}), ...(options.rate ? { rate: options.rate } : {}) }
  // Alone, the next message is the probe; beside others, none would be sent there.
  return { relay, weight: options.weight, credit: 0, pool: new SmtpPool(endpoint, { ...limits, ...own, probes: !isAlone }) }
}

/** RFC 5321 section 4.1.4: a whole name, else an address. */
function ownName(): string {
  const name = hostname()
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(name) ? name : '[127.0.0.1]'
}
