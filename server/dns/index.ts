import { getServers } from 'node:dns'
import { createZoneFinder } from './authority.ts'
import { askServer, type NameServer, parseServer } from './exchange.ts'
import { type AskFor, createLookUps, type LookUps } from './look-ups.ts'
import type { RecordType, Reply } from './message.ts'

export { type Answer, type Found, isFound, isMissing, isTrouble, type LookUps } from './look-ups.ts'
export type { CaaProperty, MailExchange } from './message.ts'
export { shown } from './shown.ts'

/** Look-ups by the resolver that the operator or the system names. */
export interface Dns extends LookUps {
  /**
   * The same by the servers of the zones themselves, for a domain and the names below it: what was not there a minute ago is remembered
   * by resolvers for hours (RFC 2308). Where those servers cannot be asked, the resolver is. What it finds out about zones is kept as long
   * as the object is: make one for each check.
   */
  authoritative(domain: string): LookUps
  /** Ends what is being looked up. */
  close(): void
}

interface Settings {
  /** `address` or `address:port`; none means the system's. */
  servers: string[]
  /** For development: name servers on private addresses may be asked, at the port of the first of `servers`. */
  isPrivateAllowed?: boolean
  timeoutMs?: number
}

const tries = 2
const defaultTimeoutMs = 2_000

export function createDns({ servers, isPrivateAllowed = false, timeoutMs = defaultTimeoutMs }: Settings): Dns {
  const stopping = new AbortController()
  const patience = { timeoutMs, signal: stopping.signal }
  const resolvers = (servers.length > 0 ? servers : getServers()).map(parseServer)
  const privatePort = resolvers[0]?.port ?? 53

  const askInTurn = async (candidates: NameServer[], name: string, type: RecordType): Promise<Reply> => {
    let last: unknown = new Error('no name server is set up')
    let refusal: Reply | null = null
    for (const server of candidates) {
      try {
        const reply = await askServer(server, { name, type }, patience)
        if (isUseful(reply)) return reply
        refusal = reply
      } catch (error) {
        if (stopping.signal.aborted) throw error
        last = error
      }
    }
    if (refusal) return refusal
    throw last
  }

  const askResolver: AskFor = (name, type) => askInTurn(Array(tries).fill(resolvers).flat().slice(0, 4), name, type)
  const recursive = createLookUps(askResolver)
  return {
    ...recursive,
    authoritative(domain) {
      const serversOf = createZoneFinder({ recursive, isPrivateAllowed, privatePort })
      const isWithin = (name: string) => name === domain.toLowerCase() || name.endsWith(`.${domain.toLowerCase()}`)
      return createLookUps(async (name, type) => {
        const own = isWithin(name) ? await serversOf(name) : null
        if (!own) return askResolver(name, type)
        const reply = await askInTurn(own, name, type).catch(() => null)
        return reply && isUseful(reply) && !isReferral(reply) ? { ...reply, isFirstHand: true } : askResolver(name, type)
      })
    },
    close: () => stopping.abort(),
  }
}

/** There is a name with such records, or there is none: anything else is worth another try elsewhere. */
const isUseful = ({ code }: Reply): boolean => code === 0 || code === 3

/** "Ask them": of a zone that was given away, and not by our resolver's account. */
const isReferral = ({ code, answers, authority }: Reply): boolean =>
  code === 0 && answers.length === 0 && authority.some(({ type }) => type === 'NS') && !authority.some(({ type }) => type === 'SOA')
