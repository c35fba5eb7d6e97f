import type { SpooledMessage } from './inbound-message.ts'

/** Whose mail could hold up that of others: the address that handed it over, and the domain that it says it is from. */
export interface Senders {
  /** Null for a relay of one's own, through which everybody's mail comes. */
  peer: string | null
  domain: string
}

type About = Pick<SpooledMessage, 'peer' | 'envelope_from'>

export const sendersOf = ({ peer, envelope_from }: About, isRelay: (address: string) => boolean): Senders => ({
  peer: isRelay(peer.address) ? null : peer.address,
  domain: envelope_from.slice(envelope_from.lastIndexOf('@') + 1).toLowerCase(),
})

/** How many of each there are. Bounces are from no domain, and not counted by one. */
export interface SenderCounts {
  add(senders: Senders): void
  remove(senders: Senders): void
  isUnder(senders: Senders, limit: number): boolean
  /** Those of whom there are as many as that, or more. */
  from(limit: number): { peers: string[]; domains: string[] }
}

export function createSenderCounts(): SenderCounts {
  const peers = new Map<string, number>()
  const domains = new Map<string, number>()
  const count = (counts: Map<string, number>, key: string | null, by: number) => {
    if (!key) return
    const now = (counts.get(key) ?? 0) + by
    if (now > 0) counts.set(key, now)
    else counts.delete(key)
  }
  const add = ({ peer, domain }: Senders, by: number) => {
    count(peers, peer, by)
    count(domains, domain, by)
  }
  const atLeast = (counts: Map<string, number>, limit: number) => [...counts].filter(([, number]) => number >= limit).map(([key]) => key)
  return {
    add: (senders) => add(senders, 1),
    remove: (senders) => add(senders, -1),
    isUnder: ({ peer, domain }, limit) => (peers.get(peer ?? '') ?? 0) < limit && (domains.get(domain) ?? 0) < limit,
    from: (limit) => ({ peers: atLeast(peers, limit), domains: atLeast(domains, limit) }),
  }
}
