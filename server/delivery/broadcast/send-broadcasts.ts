import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { DeliveryId } from '../../base/ids.ts'
import type { Log } from '../../base/log.ts'
import type { Loop } from '../../base/loop.ts'
import { onWake } from '../../base/wake.ts'
import type { Database } from '../../database/database.ts'
import type { Outcome, Transport } from '../transports/index.ts'
import type { Claimed } from './broadcast.ts'
import { claimDeliveries, giveBack, openBroadcasts } from './claim.ts'
import { expandOne } from './expand.ts'
import type { SendingNode } from './node.ts'
import type { Rendered, Renderer } from './render.ts'
import { closeAborted, finishBroadcasts, type Settled, settleBatch } from './settle.ts'

/**
 * The stream: expand → claim → render and sign → hand over → journal → settle. Claims run ahead of the sockets by at most `ahead`
 * messages; outcomes are settled a batch at a time. Whatever dies, dies in one of these states: not claimed (due), claimed (leased, and
 * due again when the lease ends), accepted (in the journal), settled.
 */
export interface BroadcastSender {
  database: Database
  clock: Clock
  log: Log
  transport: Transport
  node: SendingNode
  renderer: Renderer
  /** How many are handed over at once. */
  concurrency?: number
}

const claimSize = 500
const ahead = 1_000
const settleSize = 500
const settleEveryMs = 100
const restMs = 500

export function startBroadcastSender(sender: BroadcastSender): Loop {
  const { database, clock, log, node, concurrency = 100 } = sender
  const waiting: Claimed[] = []
  const outcomes: Settled[] = []
  let sending = 0
  let isStopping = false
  let rouse = () => {}
  const rested = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, restMs)
      rouse = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const offWake = onWake('broadcasts', () => rouse())

  const pump = () => {
    while (!isStopping && sending < concurrency) {
      const delivery = waiting.shift()
      if (!delivery) return
      sending++
      void handOver(sender, delivery).then((outcome) => {
        sending--
        if (outcome) outcomes.push({ delivery, outcome })
        if (outcomes.length >= settleSize) void flush()
        if (waiting.length < ahead / 2) rouse()
        pump()
      })
    }
  }

  let flushing: Promise<void> = Promise.resolve()
  const flush = (): Promise<void> => {
    flushing = flushing.then(async () => {
      const batch = outcomes.splice(0)
      if (batch.length === 0) return
      try {
        await settleBatch(database, node.id, batch, clock.now())
        node.journal.settled(batch.map(({ delivery }) => delivery.id))
      } catch (error) {
        // The database is away: what happened is kept, and told when it is back.
        outcomes.unshift(...batch)
        log.warn({ reason: (error as Error).message, waiting: outcomes.length }, 'outcomes are settled later')
        await sleep(1_000)
      }
    })
    return flushing
  }
  const timer = setInterval(() => void flush(), settleEveryMs)

  /** True when there may be more to do at once. */
  const step = async (): Promise<boolean> => {
    const expanded = await expandOne(database)
    // With outcomes that cannot be told, sending more would only make more of them.
    if (outcomes.length > 10 * settleSize) return false
    let claimed = 0
    for (const broadcast of await openBroadcasts(database)) {
      if (waiting.length >= ahead) break
      const batch = await claimDeliveries(database, broadcast, { node_id: node.id, now: clock.now() }, claimSize)
      claimed += batch.length
      waiting.push(...batch)
      pump()
    }
    if (claimed === 0 && sending === 0 && outcomes.length === 0) await finishBroadcasts(database)
    const closed = await closeAborted(database, clock.now())
    return expanded || closed || (claimed > 0 && waiting.length < ahead)
  }

  const run = async () => {
    while (!isStopping) {
      const more = await step().catch((error: unknown) => {
        log.warn({ reason: (error as Error).message }, 'a step of the broadcast sender failed and is tried again')
        return false
      })
      if (!more && !isStopping) await rested()
    }
  }
  const running = run()

  return {
    async stop() {
      isStopping = true
      offWake()
      rouse()
      await running
      clearInterval(timer)
      const left = waiting.splice(0).map(({ id }) => id)
      while (sending > 0) await sleep(10)
      await flush()
      if (left.length > 0) await giveBack(database, node.id, left, clock.now())
      node.stop()
    },
  }
}

/** Null when it could not even be tried, and is left to its lease. */
async function handOver({ transport, node, renderer, log }: BroadcastSender, delivery: Claimed): Promise<Outcome | null> {
  let rendered: Rendered
  try {
    rendered = await renderer.render(delivery)
  } catch (error) {
    log.warn({ delivery_id: delivery.id, reason: (error as Error).message }, 'a message could not be put together')
    return {
      kind: 'bounced',
      smtp_code: 554,
      enhanced_code: '5.6.0',
      reason: 'The message could not be put together for this recipient',
      detail: (error as Error).message,
    }
  }
  const { envelope, message, message_id, subject } = rendered
  return transport.send(envelope, message, { message_id, subject, isDotSafe: true, onAccepted: () => note(node, delivery.id) })
}

const note = (node: SendingNode, id: DeliveryId): void => node.journal.append(id)
