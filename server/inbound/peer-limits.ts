import { type Refusal, refusals } from './refusal.ts'

/** What one network address (a /64 of IPv6) may do. Each process counts for itself. Relays of one's own (SMTP_RELAYS) are not counted. */
export const peerLimits = {
  /** The large providers keep to ten or so; more is a fault or an attack. */
  connections: 20,
  /** A provider that has more for us in a minute tries again in the next. */
  messages_per_minute: 600,
  /** In one session. A list with a few old addresses passes; trying names until one exists does not. */
  wrong_recipients: 10,
  /** Over all its sessions. Whoever has guessed so often is not spoken to for the rest of the hour. */
  wrong_recipients_per_hour: 100,
}
export type PeerLimits = typeof peerLimits

export interface PeerCounts {
  /** At the greeting; whoever is let in must `leave`. */
  enter(peer: string): Refusal | null
  leave(peer: string): void
  /** At MAIL FROM. */
  beginMessage(peer: string): Refusal | null
  /** `inSession`: how many this session has named by now. */
  nameWrongRecipient(peer: string, inSession: number): Refusal | null
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs

export function createPeerCounts(limits: PeerLimits, now = () => performance.now()): PeerCounts {
  const open = new Map<string, number>()
  const messages = createWindow(minuteMs, now)
  const wrong = createWindow(hourMs, now)
  return {
    enter(peer) {
      if (wrong.count(peer) >= limits.wrong_recipients_per_hour) return refusals.too_many_wrong_recipients
      const connections = open.get(peer) ?? 0
      if (connections >= limits.connections) return refusals.too_many_connections
      open.set(peer, connections + 1)
      return null
    },
    leave(peer) {
      const left = (open.get(peer) ?? 1) - 1
      if (left === 0) open.delete(peer)
      else open.set(peer, left)
    },
    beginMessage: (peer) => (messages.add(peer) > limits.messages_per_minute ? refusals.too_many_messages : null),
    nameWrongRecipient(peer, inSession) {
      const isTooOften = wrong.add(peer) >= limits.wrong_recipients_per_hour
      return isTooOften || inSession >= limits.wrong_recipients ? refusals.too_many_wrong_recipients : null
    },
  }
}

/** However many peers there are, their counts stay small; an attack from more addresses than this starts them anew. */
const maxPeers = 100_000

/** Counts since the beginning of a stretch of time, the same for all, so that the end of one clears everything at once. */
function createWindow(lengthMs: number, now: () => number) {
  const counts = new Map<string, number>()
  let endsAt = 0
  const turn = () => {
    if (now() < endsAt && counts.size < maxPeers) return
    counts.clear()
    endsAt = now() + lengthMs
  }
  return {
    count(peer: string): number {
      turn()
      return counts.get(peer) ?? 0
    },
    add(peer: string): number {
      turn()
      const count = (counts.get(peer) ?? 0) + 1
      counts.set(peer, count)
      return count
    },
  }
}
