import type { Resolver } from 'node:dns/promises'
import type { Readable } from 'node:stream'
import type { SMTPServerSession } from 'smtp-server'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Log } from '../base/log.ts'
import { addressSubject } from '../base/peer-address.ts'
import type { Secrets } from '../base/secrets.ts'
import { Trouble } from '../base/trouble.ts'
import type { Database } from '../database/database.ts'
import { findMonster } from '../mail/inbound/limits.ts'
import { createRecipientCheck } from './accept-recipient.ts'
import { collectMessage } from './collect-message.ts'
import { findListing } from './dnsbl.ts'
import { isGreylisted } from './greylist.ts'
import type { SpooledMessage } from './inbound-message.ts'
import type { MessageMemory } from './message-memory.ts'
import { createPeerCounts, type PeerLimits } from './peer-limits.ts'
import { countHops, formatReceived, maxHops } from './received-header.ts'
import { type Refusal, refusals } from './refusal.ts'
import type { Spool } from './spool.ts'
import { isOverTime, type StageTimes, type Timed } from './stage-times.ts'

interface Needs {
  database: Database
  secrets: Secrets
  clock: Clock
  log: Log
  resolver: Resolver
  mailDomain: string
  maxSize: number
  dnsbl: string[]
  isGreylisting: boolean
  isRelay(address: string): boolean
  spool: Spool
  memory: MessageMemory
  limits: { peers: PeerLimits; times: StageTimes }
}

/** What each stage of a session answers; null is yes. */
export interface Sessions {
  onConnect(session: SMTPServerSession): Refusal | null
  onSender(session: SMTPServerSession, address: string): Promise<Refusal | null>
  /** Writes the address to deliver to into `to`. */
  onRecipient(session: SMTPServerSession, to: { address: string }): Promise<Refusal | null>
  onMessage(session: SMTPServerSession, stream: Readable): Promise<Refusal | null>
  onClose(session: SMTPServerSession): void
  isOverTime(id: string, isCrowded: boolean): boolean
  isTalking(id: string): boolean
  stop(): void
  isStopping(): boolean
  settled(): Promise<void>
}

interface State extends Timed {
  /** As limits count it; null for relays of one's own, which are not. */
  peer: string | null
  /** Asked at the greeting, needed at MAIL FROM. */
  listing: Promise<Refusal | null> | null
  wrongRecipients: number
}

export function createSessions(needs: Needs): Sessions {
  const { log, limits, memory, spool } = needs
  const states = new Map<string, State>()
  const counts = createPeerCounts(limits.peers)
  const checkRecipient = createRecipientCheck(needs)
  let stopping = false
  const trouble = new Trouble(log, { line: 'a recipient could not be looked up, and the sender will try again' })

  const enter = (id: string, stage: Timed['stage']) => {
    const state = states.get(id)
    if (state) Object.assign(state, { stage, since: performance.now() })
  }
  /** A database that cannot be asked is no reason to turn anybody away for good. */
  const orLater = async (decide: () => Promise<Refusal | null>): Promise<Refusal | null> => {
    try {
      return await decide()
    } catch (error) {
      trouble.met(error)
      return refusals.no_answer
    }
  }
  const refuseRecipient = (state: State | undefined, refusal: Refusal): Refusal => {
    if (!state?.peer || refusal.code < 500) return refusal
    return counts.nameWrongRecipient(state.peer, ++state.wrongRecipients) ?? refusal
  }

  return {
    onConnect({ id, remoteAddress }) {
      const peer = needs.isRelay(remoteAddress) ? null : addressSubject(remoteAddress)
      const refusal = peer && counts.enter(peer)
      if (refusal) return refusal
      const listing = peer && needs.dnsbl.length > 0 ? findListing(needs.resolver, needs.dnsbl, remoteAddress) : null
      states.set(id, { peer, listing, wrongRecipients: 0, stage: 'talking', since: performance.now() })
      return null
    },
    async onSender({ id }) {
      const { peer = null, listing = null } = states.get(id) ?? {}
      if (memory.isFull()) return refusals.no_room
      return (peer && counts.beginMessage(peer)) || listing
    },
    async onRecipient(session, to) {
      const state = states.get(session.id)
      const { mailFrom, rcptTo } = session.envelope
      const sender = mailFrom ? mailFrom.address : ''
      // A bounce, or an answer to one message, is for whoever sent that message.
      if (sender === '' && rcptTo.length > 0 && rcptTo[0]?.address !== to.address) return refusals.bounce_to_many
      return orLater(async () => {
        const answer = await checkRecipient(to.address)
        if (answer.kind === 'refused') return refuseRecipient(state, answer.refusal)
        to.address = answer.address
        if (!needs.isGreylisting || !state?.peer || answer.isOwn) return null
        const triple = { sender, recipient: to.address, address: session.remoteAddress }
        return (await isGreylisted(needs.database, triple, needs.clock.now())) ? refusals.greylisted : null
      })
    },
    async onMessage(session, stream) {
      enter(session.id, 'sending')
      const peer = states.get(session.id)?.peer ?? null
      const message = messageOf(session, needs)
      const collected = await collectMessage(stream, { header: message.header, maxBytes: needs.maxSize, memory, peer })
      enter(session.id, 'waiting')
      try {
        if (collected.kind === 'refused') return collected.refusal
        // There is nobody to answer any more: smtp-server only wants to hear something.
        if (collected.kind === 'gone') return refusals.took_too_long
        return await store(spool, { ...message.about, received_at: needs.clock.now(), raw: collected.raw })
      } finally {
        if (collected.kind === 'whole') collected.release()
        enter(session.id, 'talking')
      }
    },
    onClose({ id }) {
      const peer = states.get(id)?.peer
      if (peer) counts.leave(peer)
      states.delete(id)
    },
    isOverTime(id, isCrowded) {
      const state = states.get(id)
      return state !== undefined && isOverTime(state, { times: limits.times, isCrowded, now: performance.now() })
    },
    isTalking: (id) => (states.get(id)?.stage ?? 'talking') === 'talking',
    stop() {
      stopping = true
    },
    isStopping: () => stopping,
    settled: () => spool.settled(),
  }
}

async function store(spool: Spool, message: SpooledMessage): Promise<Refusal | null> {
  // Ours is one of them.
  if (countHops(message.raw) > maxHops + 1) return refusals.loop
  const monster = findMonster(message.raw)
  if (monster) return { ...refusals.monster, text: `The message ${monster}, which is more than we take` }
  try {
    await spool.add(message)
    return null
  } catch {
    // The spool has told the log.
    return refusals.not_stored
  }
}

/** All that is known before the first byte: what the spool keeps of the session, and the trace line. */
function messageOf(session: SMTPServerSession, { clock, mailDomain }: Needs) {
  const { envelope, secure, remoteAddress, hostNameAppearsAs, transmissionType } = session
  const about = {
    id: newId() as string,
    peer: { address: remoteAddress, name: hostNameAppearsAs, is_tls: secure },
    envelope_from: envelope.mailFrom ? envelope.mailFrom.address : '',
    recipients: envelope.rcptTo.map(({ address }) => address),
  }
  // RFC 6531 section 4.3 has names of its own for mail with addresses beyond ASCII.
  const protocol = envelope.smtpUtf8 ? `UTF8SMTP${secure ? 'S' : ''}` : transmissionType
  return { about, header: formatReceived({ ...about, protocol, by: mailDomain, received_at: clock.now() }) }
}
