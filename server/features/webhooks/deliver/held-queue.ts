import type { WebhookDeliveryId } from '../../../base/ids.ts'
import type { Secrets } from '../../../base/secrets.ts'
import { openSecrets } from '../sign-delivery.ts'
import type { WebhookKey } from '../webhook-queries.ts'
import type { Endpoint } from './call-endpoint.ts'
import type { Due } from './next-deliveries.ts'
import type { LeasedQueue, QueueState } from './queue-queries.ts'

const beforeAll = '00000000-0000-0000-0000-000000000000'

/** A queue that this process has leased, with as many of its deliveries as are soon to be sent. */
export class HeldQueue {
  readonly key: WebhookKey
  /** As the queue was before the last look. */
  filed: number
  isActive = false
  endpoint: Endpoint | null = null
  endsUntil: WebhookDeliveryId | null = null
  /** What is to be sent next, in this order. */
  line: Due[] = []
  /** In the line, under way or being settled: a look may find them again. */
  readonly open = new Set<WebhookDeliveryId>()
  /** First attempts up to here have been in the line. */
  after: string = beforeAll
  /** The last look found all there is. */
  isExhausted = false
  lookedAt = Number.NEGATIVE_INFINITY
  /** Since when it has something to send and has begun none of it, though others may. */
  stuckSince: number | null = null
  /** Since the last look began: it may have seen them as they were before. */
  readonly #settled = new Set<WebhookDeliveryId>()
  #sealed: Pick<QueueState, 'secret' | 'previous_secret'> | null = null

  constructor({ project_id, webhook_id, filed }: LeasedQueue) {
    this.key = { project_id, webhook_id }
    this.filed = filed
  }

  /** The webhook as it is now. Opening secrets takes a while, so it is done when they change. Throws when they cannot be read. */
  hear(state: QueueState, secrets: Secrets): void {
    this.filed = state.filed
    this.isActive = state.status === 'active'
    this.endsUntil = state.ends_until
    const isSame =
      this.#sealed?.secret.equals(state.secret) &&
      (this.#sealed.previous_secret ?? empty).equals(state.previous_secret ?? empty) &&
      this.endpoint?.url === state.url
    if (!this.isActive) this.clearLine()
    if (!this.isActive || isSame) return
    try {
      this.endpoint = { url: state.url, signing: openSecrets(secrets, state) }
    } catch (error) {
      this.isActive = false
      this.clearLine()
      throw error
    }
    this.#sealed = state
  }

  beginLook(): void {
    this.#settled.clear()
  }

  /** It was sent and settled; or it was not, and is to be found once more. */
  close(id: WebhookDeliveryId, isSettled: boolean): void {
    this.open.delete(id)
    if (isSettled) this.#settled.add(id)
    else this.lookAgain()
  }

  lookAgain(): void {
    this.after = beforeAll
    this.isExhausted = false
  }

  /** Adds what a look for `most` has found. */
  add(found: Due[], most: number): void {
    const firsts = found.filter(({ attempt }) => attempt === 0)
    // Ids of different machines may stand in another order than they were committed in: at the end, one looks from the beginning again.
    this.after = firsts.length < most ? beforeAll : (firsts.at(-1)?.id ?? beforeAll)
    const news = found.filter(({ id }) => !this.open.has(id) && !this.#settled.has(id))
    this.isExhausted = firsts.length < most && found.length - firsts.length < most
    for (const due of news) this.open.add(due.id)
    const again = news.filter(({ attempt }) => attempt > 0)
    this.line.unshift(...again)
    this.line.push(...news.filter(({ attempt }) => attempt === 0))
  }

  clearLine(): void {
    for (const { id } of this.line) this.open.delete(id)
    this.line = []
    this.lookAgain()
  }
}

const empty = Buffer.alloc(0)
