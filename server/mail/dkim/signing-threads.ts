import type { KeyObject } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { type DkimAlgorithm, type SignText, signInPool } from './sign-in-pool.ts'

const entry = new URL('../../../bin/signing-thread.js', import.meta.url)
/** Each takes 10 MB. */
const mostThreads = Math.min(4, availableParallelism())
/** So many at a time go over: threads that wake each other for every few wait for each other's core. */
const mostAtOnce = 16
/** The one that it is at, and the next: with one alone a thread waited for the sender to notice, and two cores were used 1.83 times instead of 1.87. */
const mostBatches = 2
const idleMs = 30_000
/** A key is opened anew every minute, and is another one to the threads. */
const mostKeys = 100

/** What a thread is asked; the answer to `sign` is the signatures in the same order. Keys are named by numbers and go over once. */
type ToSigningThread =
  | { kind: 'key'; number: number; key: KeyObject }
  | { kind: 'forget keys' }
  | { kind: 'sign'; jobs: { key: number; algorithm: DkimAlgorithm; text: string }[] }

interface Job {
  key: KeyObject
  algorithm: DkimAlgorithm
  text: string
  resolve(signature: string): void
  reject(error: Error): void
}

/**
 * Threads that do nothing but sign, for a sender of many: in Node's own pool a signature costs a quarter more of the processor, and two
 * cores make a quarter fewer of them (docs/benchmarks.md, "A signature"). They start when they are needed and end when they have not
 * been for a while. What a thread that dies had in hand is signed in the pool.
 */
export function createSigningThreads(): SignText {
  const waiting: Job[] = []
  const threads = new Set<SigningThread>()
  let isFlushing = false

  const give = (thread: SigningThread) => {
    if (waiting.length > 0) thread.take(waiting.splice(0, mostAtOnce))
  }
  const flush = () => {
    isFlushing = false
    for (const thread of threads) if (thread.hasRoom) give(thread)
    while (waiting.length > 0 && threads.size < mostThreads) {
      const thread: SigningThread = new SigningThread(give, () => {
        threads.delete(thread)
        flush()
      })
      threads.add(thread)
      give(thread)
    }
  }

  return (algorithm, text, key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, algorithm, text, resolve, reject })
      // Those that are asked for in the same turn of the loop go over together.
      if (!isFlushing) setImmediate(flush)
      isFlushing = true
    })
}

class SigningThread {
  readonly #worker = new Worker(entry, {
    name: 'signing',
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 },
  })
  readonly #idle: NodeJS.Timeout
  readonly #keys = new Map<KeyObject, number>()
  /** By batches, the one that it is at first. */
  readonly #inHand: Job[][] = []

  constructor(onFree: (thread: SigningThread) => void, onEnd: () => void) {
    this.#idle = setTimeout(() => this.#worker.terminate(), idleMs).unref()
    this.#worker.on('message', (signatures: string[]) => {
      const done = this.#inHand.shift() ?? []
      onFree(this)
      if (this.#inHand.length === 0) this.#worker.unref()
      for (const [index, { resolve }] of done.entries()) resolve(signatures[index] as string)
    })
    // Its end is what counts.
    this.#worker.on('error', () => {})
    this.#worker.on('exit', () => {
      clearTimeout(this.#idle)
      for (const { algorithm, text, key, resolve, reject } of this.#inHand.flat()) signInPool(algorithm, text, key).then(resolve, reject)
      onEnd()
    })
  }

  /** One more is there when it is done with the one that it is at: it need not wait for us to notice. */
  get hasRoom(): boolean {
    return this.#inHand.length < mostBatches
  }

  take(jobs: Job[]): void {
    this.#inHand.push(jobs)
    this.#worker.ref()
    this.#idle.refresh()
    if (this.#keys.size > mostKeys) {
      this.#keys.clear()
      this.#tell({ kind: 'forget keys' })
    }
    this.#tell({ kind: 'sign', jobs: jobs.map(({ key, algorithm, text }) => ({ key: this.#numberOf(key), algorithm, text })) })
  }

  #numberOf(key: KeyObject): number {
    const known = this.#keys.get(key)
    if (known !== undefined) return known
    const number = this.#keys.size
    this.#keys.set(key, number)
    this.#tell({ kind: 'key', number, key })
    return number
  }

  #tell(what: ToSigningThread): void {
    this.#worker.postMessage(what)
  }
}
