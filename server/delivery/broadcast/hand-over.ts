import { isConnectionLoss } from '../../database/database.ts'
import { outcomeOfOwnError } from '../put-together.ts'
import type { Outcome } from '../transports/index.ts'
import type { Claimed } from './broadcast.ts'
import { BroadcastGone, type Rendered } from './render.ts'
import type { BroadcastSender } from './send-broadcasts.ts'
import { troublesOf } from './troubles.ts'

/** How one message fared. */
export interface HandedOver {
  outcome: Outcome
  /** The peer has it, and the journal could not be told. */
  journalError?: Error
}

/**
 * `later` when the database was away before anybody was asked; `unbegun` when it was not wanted any more when its turn came; `gone` when
 * there is nothing left to send, or to settle.
 */
export async function handOver(
  sender: BroadcastSender,
  delivery: Claimed,
  isStillWanted: () => boolean,
): Promise<HandedOver | 'later' | 'unbegun' | 'gone'> {
  const { transport, node, renderer, log } = sender
  let rendered: Rendered
  try {
    rendered = await renderer.render(delivery)
  } catch (error) {
    if (isConnectionLoss(error)) return 'later'
    if (error instanceof BroadcastGone) return 'gone'
    troublesOf(log).rendering.met(error, { delivery_id: delivery.id, broadcast_id: delivery.broadcast_id, stack: (error as Error).stack })
    return { outcome: outcomeOfOwnError(error) }
  }
  const { envelope, message, message_id, subject, release, forget } = rendered
  let isAccepted = false
  const onAccepted = () => {
    isAccepted = true
    node.journal.append(delivery.id)
  }
  try {
    const about = { message_id, subject, lane: delivery.broadcast_id, isDotSafe: true, onAccepted, onWritten: release, isStillWanted }
    const outcome = await transport.send(envelope, message, about)
    return outcome.kind === 'deferred' && outcome.isUnbegun ? 'unbegun' : { outcome }
  } catch (error) {
    if (isAccepted) return { outcome: { kind: 'delivered', smtp_code: 250, response: 'accepted' }, journalError: error as Error }
    troublesOf(log).handingOver.met(error, { delivery_id: delivery.id })
    return { outcome: notHandedOver((error as Error).message) }
  } finally {
    forget()
  }
}

/** Nobody foresaw it, so it counts as temporary. */
const notHandedOver = (detail: string): Outcome => ({
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason: 'The message could not be handed over; it is tried again',
  detail,
})
