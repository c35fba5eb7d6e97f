import { ApiError } from '../../base/errors.ts'
import type { MailboxId } from '../../base/ids.ts'
import { onWake } from '../../base/wake.ts'
import type { Database } from '../../database/database.ts'
import type { Caller } from '../../operations/context.ts'

/** Each of them holds a connection of its client, and looks into the database when mail comes. */
const maxOfOneKey = 20
/** A project may have many keys. */
const maxOfProject = 200
const maxOfProcess = 2_000

/** Somebody who waits for mail in one mailbox. */
export interface Watch {
  /** Resolves when mail may have come since the last rest began, after so long, or when nobody waits any more. */
  rest(ms: number): Promise<void>
  isOver(): boolean
}

interface Watcher {
  ring(): void
}

/** Who waits for mail, in this process. Those of one key, of one project, and all of them together are only so many. */
class MailWatch {
  readonly #inMailbox = new Map<string, Set<Watcher>>()
  readonly #ofKey = new Map<string, number>()
  readonly #ofProject = new Map<string, number>()
  #count = 0
  #offWake = () => {}

  enter({ counted_as, project_id }: Caller, mailbox_id: MailboxId, ended: AbortSignal): Watch {
    const ofKey = this.#ofKey.get(counted_as) ?? 0
    if (ofKey >= maxOfOneKey) throw tooMany(`This key waits for mail in ${maxOfOneKey} requests already. End one of them first.`)
    const ofProject = this.#ofProject.get(project_id) ?? 0
    if (ofProject >= maxOfProject) throw tooMany(`This project waits for mail in ${maxOfProject} requests already. End one of them first.`)
    if (this.#count >= maxOfProcess) throw tooMany('Too many requests wait for mail just now. Ask again in a moment, or without waiting.')
    if (this.#count === 0) this.#offWake = onWake('mailboxes', (about) => this.#ring(about))
    this.#count++
    this.#ofKey.set(counted_as, ofKey + 1)
    this.#ofProject.set(project_id, ofProject + 1)

    const { watch, ring } = createWatch(ended)
    const watcher = { ring }
    const here = this.#inMailbox.get(mailbox_id) ?? new Set()
    this.#inMailbox.set(mailbox_id, here.add(watcher))
    ended.addEventListener(
      'abort',
      () => {
        here.delete(watcher)
        if (here.size === 0 && this.#inMailbox.get(mailbox_id) === here) this.#inMailbox.delete(mailbox_id)
        countDown(this.#ofKey, counted_as)
        countDown(this.#ofProject, project_id)
        if (--this.#count === 0) this.#offWake()
        ring()
      },
      { once: true },
    )
    return watch
  }

  /** Without an id, it may be any of them. */
  #ring(mailbox_id: string | undefined): void {
    const rung = mailbox_id === undefined ? [...this.#inMailbox.values()] : [this.#inMailbox.get(mailbox_id) ?? []]
    for (const watchers of rung) for (const watcher of watchers) watcher.ring()
  }
}

function countDown(counts: Map<string, number>, of: string): void {
  const left = (counts.get(of) ?? 1) - 1
  if (left === 0) counts.delete(of)
  else counts.set(of, left)
}

const tooMany = (message: string) => new ApiError('rate_limited', message, { headers: { 'retry-after': '5' } })

function createWatch(ended: AbortSignal): { watch: Watch; ring(): void } {
  let isRung = false
  let endRest = () => {}
  const ring = () => {
    isRung = true
    endRest()
  }
  const rest = async (ms: number) => {
    // Rung since it looked last: it looks again at once.
    if (!isRung && !ended.aborted)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms)
        endRest = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    isRung = false
  }
  return { watch: { rest, isOver: () => ended.aborted }, ring }
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
