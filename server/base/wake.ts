import { EventEmitter } from 'node:events'

/**
 * Tells the loops of this process that there is something to do, right after the commit that made it. A loop in another process
 * finds out by polling, so a lost wake costs half a second and never work.
 */
export type Wake = 'events' | 'messages' | 'broadcasts'

const signals = new EventEmitter().setMaxListeners(100)

export const wake = (what: Wake): void => {
  signals.emit(what)
}

export const onWake = (what: Wake, listener: () => void): (() => void) => {
  signals.on(what, listener)
  return () => signals.off(what, listener)
}
