import { setImmediate as nextTurn } from 'node:timers/promises'
import { formatDeliveryTokens } from '../../base/delivery-token.ts'
import { type BroadcastId, formatId, type ProjectId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Secrets } from '../../base/secrets.ts'
import { threadMs } from '../../base/thread-time.ts'
import type { Database } from '../../database/database.ts'
import { type CompiledParts, type CompiledPost, type FilledPost, openPost, type Recipient } from '../../mail/compile/index.ts'
import { UnfitMail } from '../put-together.ts'
import { isFromOwnDomain, type Signers } from '../signing-keys.ts'
import type { Envelope } from '../transports/index.ts'
import type { Breaker } from './breaker.ts'
import type { BroadcastKey, BroadcastSource, Claimed } from './broadcast.ts'
import { FillWatch } from './fill-watch.ts'
import { createMessageBuffers } from './message-buffers.ts'
import { MessageRoom } from './message-room.ts'

export interface Rendered {
  envelope: Envelope
  message: Buffer[]
  message_id: string
  subject: string
  /** To be called when nobody reads the message any more: the next one is put into its place. */
  release(): void
  /** To be called when it is over, in any case. */
  forget(): void
}

export interface Renderer {
  render(delivery: Claimed): Promise<Rendered>
}

interface Prepared {
  source: BroadcastSource
  compiled: CompiledPost
  domain: string
  /** The project's, which signs for itself. */
  isOwnDomain: boolean
  /** In letters, for the memory that it takes. */
  size: number
  watch: FillWatch
}

/** It was deleted with its project, or went with it into another one: whoever finds it there sends what is left. */
export class BroadcastGone extends Error {
  constructor() {
    super('the broadcast is gone')
  }
}

/** With more broadcasts or letters than this at once, those that were not asked for longest are opened anew when they are. */
const mostPrepared = { count: 50, letters: 64_000_000 }
/** After a filling that took longer, whatever else this thread has to do comes first: answers of servers, leases, other broadcasts. */
const longMs = 5

interface RendererParts {
  database: Database
  secrets: Secrets
  signers: Signers
  breaker: Pick<Breaker, 'pause'>
  log: Log
  room?: MessageRoom
}

/**
 * Opens each broadcast once in this process; a recipient then costs the slots and the signature. What the author wrote was compiled before
 * it was sent, elsewhere: here runs at most Liquid, for one reader at a time and within its bounds.
 */
export function createRenderer({ database, secrets, signers, breaker, log, room = new MessageRoom() }: RendererParts): Renderer {
  const prepared = createPrepared(database)
  const buffers = createMessageBuffers()
  let rest: Promise<void> | null = null

  const fill = ({ compiled, watch }: Prepared, { project_id, broadcast_id }: Claimed, recipient: Recipient): FilledPost => {
    const began = compiled.needs_logic ? threadMs() : 0
    let trouble: string | null = null
    try {
      const filled = compiled.fill(recipient, buffers.take)
      if (compiled.needs_logic) trouble = watch.filled(threadMs() - began)
      return filled
    } catch (error) {
      trouble = watch.failed(error as Error)
      throw new UnfitMail(error)
    } finally {
      if (compiled.needs_logic && threadMs() - began > longMs) rest = nextTurn().finally(() => (rest = null))
      if (trouble !== null)
        breaker.pause({ project_id, id: broadcast_id }, trouble).catch((error: Error) => {
          log.warn({ reason: error.message, broadcast_id }, 'a broadcast that should pause goes on')
        })
    }
  }

  return {
    async render(delivery) {
      const ready = await prepared.of(delivery)
      while (rest || room.isFull) await (rest ?? room.untilLess())
      const { source, compiled, domain, isOwnDomain } = ready
      const tokens = formatDeliveryTokens(secrets, { kind: 'delivery', project_id: delivery.project_id, id: delivery.id })
      const message_id = `${formatId('dlv', delivery.id)}@${source.frame.message_id_domain}`
      const { email, name, contact } = delivery
      const { headers, body, message } = fill(ready, delivery, { tokens, email, name, message_id, values: { contact: contact ?? {} } })
      const forget = room.hold(message.length)
      try {
        // Asked for each message, and remembered there for a minute: a broadcast may outlive a key.
        const signer = await signers.signerFor({ project_id: isOwnDomain ? delivery.project_id : null, domain })
        const signature = signer ? [await signer.sign(headers, body, { isRelaxed: true })] : []
        return {
          envelope: { from: compiled.returnPath({ tokens }), to: delivery.email },
          message: [...signature, message],
          message_id,
          subject: source.post.subject,
          release: () => {
            forget()
            buffers.giveBack(message)
          },
          forget,
        }
      } catch (error) {
        forget()
        throw error
      }
    },
  }
}

/** The broadcasts that are open, the ones asked for last at the end. */
function createPrepared(database: Database) {
  const open = new Map<BroadcastId, Promise<Prepared>>()
  const sizes = new Map<BroadcastId, number>()
  let letters = 0
  const close = (id: BroadcastId) => {
    letters -= sizes.get(id) ?? 0
    sizes.delete(id)
    open.delete(id)
  }
  const make = async (project_id: ProjectId, id: BroadcastId): Promise<Prepared> => {
    const made = await prepare(database, { project_id, id })
    sizes.set(id, made.size)
    letters += made.size
    for (const oldest of open.keys()) {
      if (oldest === id || (open.size <= mostPrepared.count && letters <= mostPrepared.letters)) break
      close(oldest)
    }
    return made
  }
  return {
    of({ project_id, broadcast_id: id }: Claimed): Promise<Prepared> {
      const known = open.get(id)
      if (known) {
        open.delete(id)
        open.set(id, known)
        return known
      }
      const made = make(project_id, id)
      open.set(id, made)
      made.catch(() => close(id))
      return made
    },
  }
}

async function prepare(database: Database, { project_id, id }: BroadcastKey): Promise<Prepared> {
  const row = await database.first<{ source: BroadcastSource; compiled: CompiledParts }>`
    select source, compiled from broadcasts where project_id = ${project_id} and id = ${id}`
  if (!row) throw new BroadcastGone()
  const { source, compiled } = row
  const size = [compiled.subject, compiled.html, compiled.text].reduce((sum, part) => sum + (part ? lettersOf(part) : 0), 0)
  const domain = source.frame.from.address.split('@').at(-1) as string
  const isOwnDomain = isFromOwnDomain(domain, source.frame.mail.return_path)
  return { source, compiled: openPost(compiled, source.post, source.frame), domain, isOwnDomain, size, watch: new FillWatch() }
}

const lettersOf = (part: CompiledParts['text']): number =>
  part.kind === 'logic' ? part.source.length : part.pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? piece.length : 0), 0)
