import { setTimeout as sleep } from 'node:timers/promises'
import { LastingWrites, writeOnStopMs } from '../../base/lasting-writes.ts'
import { oneForEach } from '../../base/one-for-each.ts'
import type { Services } from '../../operations/context.ts'

type Transport = Services['transport']

/** What a process has handed over and not settled, whether its request still waits or was answered long ago. */
interface OpenSends {
  sends: Set<Promise<unknown>>
  writes: LastingWrites
}

const openSends = oneForEach((_: Transport): OpenSends => ({ sends: new Set(), writes: new LastingWrites() }))

export const writesOf = ({ transport }: Pick<Services, 'transport'>): LastingWrites => openSends(transport).writes

/** So that a process which ends waits for it. */
export function keepOpen<Result>({ transport }: Pick<Services, 'transport'>, send: Promise<Result>): Promise<Result> {
  const { sends } = openSends(transport)
  const forget = () => sends.delete(send)
  sends.add(send)
  send.then(forget, forget)
  return send
}

/** To be called when the transport is closed and knows of no more answers, and before the database is: what they said is written down. */
export async function finishSends(transport: Transport): Promise<void> {
  const { sends, writes } = openSends(transport)
  writes.endWithin(writeOnStopMs)
  const isOver = new AbortController()
  const patience = sleep(writeOnStopMs, undefined, { signal: isOver.signal }).catch(() => {})
  await Promise.race([Promise.allSettled(sends), patience])
  isOver.abort()
}
