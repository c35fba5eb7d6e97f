import type { Log } from '../base/log.ts'

/** They go all at once, when their server does: that is one thing to tell, not twenty. */
export interface LostConnections {
  add(reason: string): void
  /** From now on they are lost because we want it so. */
  stop(): void
}

const gatherMs = 1_000

export function gatherLostConnections(log: Pick<Log, 'warn'>, withinMs = gatherMs): LostConnections {
  let timer: NodeJS.Timeout | undefined
  let connections = 0
  let isStopped = false
  const tell = (reason: string) => {
    log.warn({ reason, connections }, 'lost idle database connections')
    connections = 0
    timer = undefined
  }
  return {
    add(reason) {
      if (isStopped) return
      connections++
      timer ??= setTimeout(() => tell(reason), withinMs).unref()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
