import { type Agent, type AgentOptions, Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { FetchRefused } from './fetch-error.ts'
import { type AddressesOf, asConnectionLookup } from './look-up.ts'
import { type AddressRules, hostOf, notPublic } from './public-url.ts'

const idleMs = 15_000
/** A wait for one counts as time of the request: closer limits are the business of whoever asks. */
const mostAtOneHost = 1_500
const mostIdleAtOneHost = 32
/** With so many open, none is kept: they would be the file descriptors that others need. */
const mostOpen = 1_000
/** The next address of a name is tried after this long. Node's quarter of a second gives up on servers at the other end of the world. */
const nextAddressMs = 2_000

interface Pair {
  /** Takes connections up again. */
  kept: Agent
  /** Makes one for each request. */
  single: Agent
}

export interface Connections {
  for(url: URL): Pair
  close(): void
}

/** The connections to strangers: to checked addresses only, a bounded number, and none for long. */
export function createConnections(addressesOf: AddressesOf, rules: AddressRules, keptMs: number): Connections {
  // Without `proxyEnv`, an agent of one's own heeds no proxy of the environment: one would dial what nobody has checked.
  const common: AgentOptions = {
    lookup: asConnectionLookup(addressesOf),
    autoSelectFamilyAttemptTimeout: nextAddressMs,
    maxSockets: mostAtOneHost,
    maxFreeSockets: mostIdleAtOneHost,
    scheduling: 'lifo',
  }
  const pairOf = (make: (options: AgentOptions) => Agent): Pair => {
    const pair = { kept: make({ ...common, keepAlive: true, timeout: idleMs }), single: make(common) }
    for (const agent of Object.values(pair)) guard(agent, rules, keptMs)
    return pair
  }
  const secure = pairOf((options) => new HttpsAgent(options))
  const plain = rules.isPrivateAllowed ? pairOf((options) => new HttpAgent(options)) : null
  return {
    for(url) {
      if (url.protocol === 'https:') return secure
      if (plain) return plain
      throw new FetchRefused(`${hostOf(url)} is asked without TLS`)
    },
    close() {
      for (const agent of [secure, plain].flatMap((pair) => (pair ? Object.values(pair) : []))) agent.destroy()
    },
  }
}

/** Nothing is looked up for a literal address, so it is held against the rules once more where the connection is made. */
function guard(agent: Agent, { isPrivateAllowed, isPublic }: AddressRules, keptMs: number): void {
  const bornAt = new WeakMap<object, number>()
  let open = 0
  const connect = agent.createConnection.bind(agent)
  agent.createConnection = (options, callback) => {
    const host = options.host ?? ''
    if (!isPrivateAllowed && isIP(host) !== 0 && !isPublic(host)) throw new FetchRefused(notPublic(host))
    const socket = connect(options, callback)
    if (!socket) return socket
    open++
    bornAt.set(socket, performance.now())
    return socket.once('close', () => open--)
  }
  const keep = agent.keepSocketAlive.bind(agent)
  agent.keepSocketAlive = (stream) => {
    const leftMs = (bornAt.get(stream) ?? 0) + keptMs - performance.now()
    if (open > mostOpen || leftMs <= 0 || !(keep(stream) as unknown)) return false
    const socket = stream as Socket
    socket.setTimeout(Math.min(socket.timeout || idleMs, Math.ceil(leftMs)))
    return true
  }
}
