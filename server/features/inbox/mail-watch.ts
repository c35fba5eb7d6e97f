import { createDoorbell, type Doorbell } from '../../base/doorbell.ts'
import type { MailboxId } from '../../base/ids.ts'
import { Seats } from '../../base/seats.ts'
import { onWake } from '../../base/wake.ts'
import type { Database } from '../../database/database.ts'
import type { Caller } from '../../operations/context.ts'

/** Somebody who waits for mail in one mailbox. */
export type Watch = Pick<Doorbell, 'rest' | 'isOver'>

/** Who waits for mail, in this process. Each of them holds a connection of its client, and looks into the database when mail comes. */
class MailWatch {
  readonly #inMailbox = new Map<string, Set<Doorbell>>()
  readonly #seats = new Seats({
    ofKey: 20,
    // A project may have many keys.
    ofProject: 200,
    ofProcess: 2_000,
    doing: 'waits for mail',
    tooMany: 'Too many requests wait for mail just now. Ask again in a moment, or without waiting.',
  })
  #offWake: (() => void) | null = null

  enter(caller: Caller, mailbox_id: MailboxId, ended: AbortSignal): Watch {
    this.#seats.take(caller, ended)
    const bell = createDoorbell(ended)
    if (ended.aborted) return bell
    this.#offWake ??= onWake('mailboxes', (about) => this.#ring(about))
    const here = this.#inMailbox.get(mailbox_id) ?? new Set()
    this.#inMailbox.set(mailbox_id, here.add(bell))
    const leave = () => {
      here.delete(bell)
      if (here.size === 0 && this.#inMailbox.get(mailbox_id) === here) this.#inMailbox.delete(mailbox_id)
      if (this.#inMailbox.size > 0) return
      this.#offWake?.()
      this.#offWake = null
    }
    ended.addEventListener('abort', leave, { once: true })
    return bell
  }

  /** Without an id, it may be any of them. */
  #ring(mailbox_id: string | undefined): void {
    const rung = mailbox_id === undefined ? [...this.#inMailbox.values()] : [this.#inMailbox.get(mailbox_id) ?? []]
    for (const bells of rung) for (const bell of bells) bell.ring()
  }
}

const watches = new WeakMap<Database, MailWatch>()

/** Waits for mail in a mailbox until `ended`. 429 when too many do. */
export function watchMailbox(
  database: Database,
  caller: Caller,
  { mailbox_id, ended }: { mailbox_id: MailboxId; ended: AbortSignal },
): Watch {
  const watch = watches.get(database) ?? new MailWatch()
  watches.set(database, watch)
  return watch.enter(caller, mailbox_id, ended)
}
