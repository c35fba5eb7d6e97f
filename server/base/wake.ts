import { EventEmitter } from 'node:events'

/**
 * Tells the loops of this process that there is something to do, right after the commit that made it. A loop in another process
 * finds out by polling, so a lost wake costs half a second and never work.
 */
export type Wake = 'events' | 'messages' | 'broadcasts' | 'inbound' | 'mailboxes' | 'webhooks' | 'webhook-masses' | 'certificates'

const signals = new EventEmitter().setMaxListeners(100)

/** `about`: the id of what it concerns, where listeners tell one from another; without it, any may be meant. */
export const wake = (what: Wake, about?: string): void => {
  signals.emit(what, about)
}

export const onWake = (what: Wake, listener: (about?: string) => void): (() => void) => {
  signals.on(what, listener)
  return () => signals.off(what, listener)
}
