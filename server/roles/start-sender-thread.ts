import { url as inspectorUrl } from 'node:inspector'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Log } from '../base/log.ts'
import { inOne } from '../base/trouble.ts'
import { onWake, wake } from '../base/wake.ts'
import { addCounts } from '../metrics/counters.ts'
import { beatEveryMs, Pulse } from './pulse.ts'
import type { FromSenderThread, SenderThreadData, ToSenderThread } from './sender-thread.ts'

/**
 * The role `sender` in a thread of its own, for a process that serves requests, too: a broadcast keeps an event loop busy, and
 * requests would wait for it.
 *
 * A thread that dies by an error is started again. Its end is the same to the ledger as that of a process: Node closes what the thread had
 * open, its lock on the journal included, and the next one settles what the journal holds before it sends. One that lives and does not
 * turn any more, as in a loop without an end, is ended after half a minute: its leases run out meanwhile, and others may take its work.
 */
export interface SenderThread {
  /** Rejects when the first start fails: what keeps it from sending is better known now. */
  start(): Promise<void>
  /** Resolves when what is on the way is handed over and settled. */
  stop(): Promise<void>
  /** What is wrong with it at this moment, in words; null when nothing is. */
  trouble(): string | null
}

/** Far above what the sender needs (50 MB), so that it bounds a leak and never a large post. */
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 24 }
/** Before the first new start; twice as long each time, up to the most, until one has lived that long. */
const shortestRestMs = 1_000
const longestRestMs = 30_000

export function createSenderThread(data: SenderThreadData, log: Log): SenderThread {
  const stopping = new AbortController()
  let thread: Thread | null = null
  let watching: Promise<void> = Promise.resolve()

  const keepAlive = async (first: Thread) => {
    let restMs = shortestRestMs
    for (let running = first; ; running = thread = runThread(data, log)) {
      const began = performance.now()
      const failure = await running.ended
      if (stopping.signal.aborted) {
        if (failure) log.warn({ reason: failure.message }, 'the thread that sends mail did not stop cleanly')
        return
      }
      if (performance.now() - began > longestRestMs) restMs = shortestRestMs
      log.error(
        { reason: failure?.message, stack: failure?.stack, again_in_ms: restMs },
        'the thread that sends mail has died and is started again',
      )
      // Told to stop in the meantime: nothing runs that would have to be.
      await sleep(restMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      restMs = Math.min(2 * restMs, longestRestMs)
    }
  }

  return {
    async start() {
      const first = runThread(data, log)
      thread = first
      await first.started
      watching = keepAlive(first)
    },
    async stop() {
      stopping.abort()
      thread?.tell('stop')
      await watching
    },
    trouble: () => thread?.trouble() ?? null,
  }
}

interface Thread {
  tell(what: ToSenderThread): void
  /** Rejects when it ends before it has begun. */
  started: Promise<void>
  /** Why it died; null when it ended by itself, as it does when told to. */
  ended: Promise<Error | null>
  trouble(): string | null
}

const entry = new URL('../../bin/sender-thread.js', import.meta.url)

function runThread(data: SenderThreadData, log: Log): Thread {
  const worker = new Worker(entry, { name: 'sender', workerData: data, resourceLimits })
  const tell = (what: ToSenderThread) => worker.postMessage(what)
  const offWakes = (['messages', 'broadcasts'] as const).map((what) => onWake(what, () => tell(what)))
  const started = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<Error | null>()
  // Who starts it again hears of it by `ended`.
  started.promise.catch(() => {})
  const pulse = new Pulse()
  let itsTrouble: string | null = null
  worker.on('message', (what: FromSenderThread) => {
    pulse.beat()
    if (what === 'started') started.resolve()
    else if (what === 'events') wake(what)
    else {
      itsTrouble = what.trouble
      addCounts(what.counts)
    }
  })
  let failure: Error | null = null
  let isOver = false
  const watch = setInterval(() => {
    pulse.tick()
    // Whoever looks at it with a debugger may take as long as they like.
    if (!pulse.isDead || inspectorUrl() !== undefined) return
    clearInterval(watch)
    failure = new Error('it did not turn for half a minute')
    log.error({}, 'the thread that sends mail hangs and is ended; a post that is dear to fill in, or a full disk, may be why')
    void worker.terminate()
  }, beatEveryMs)
  worker.on('error', (error: Error) => {
    failure = error
  })
  worker.on('exit', (code) => {
    isOver = true
    clearInterval(watch)
    for (const off of offWakes) off()
    const why = failure ?? (code === 0 ? null : new Error(`the thread ended with ${code}`))
    started.reject(why ?? new Error('the thread that sends mail ended before it had begun'))
    ended.resolve(why)
  })
  const trouble = () => {
    if (isOver) return 'mail does not go out just now: the thread that sends it has died and is started again in a moment'
    const silence = pulse.isQuiet ? 'mail does not go out just now: the thread that sends it does not answer' : null
    return inOne([silence, itsTrouble])
  }
  return { tell, started: started.promise, ended: ended.promise, trouble }
}
