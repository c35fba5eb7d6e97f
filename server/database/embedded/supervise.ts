import { setTimeout as sleep } from 'node:timers/promises'
import { adoptLeftover, type Postmaster, type ServerPlan, startPostmaster, stopPostmaster } from './postmaster.ts'
import { signalProcess } from './processes.ts'

export interface SupervisedServer {
  stop(): Promise<void>
}

const firstDelayMs = 100
const longestDelayMs = 30_000
/** A server that lived this long was well; its end is a new misfortune, not the next of a row. */
const steadyMs = 60_000

/**
 * running ──(the process ends)──▶ waiting ──(100 ms, doubled up to 30 s)──▶ starting ──▶ running
 * and from any of these, stop() leads to stopped. Clients see failing connections in between, and connect again.
 */
export async function superviseServer(plan: ServerPlan): Promise<SupervisedServer> {
  const stopping = new AbortController()
  let current = (await adoptLeftover(plan)) ?? (await startPostmaster(plan))
  let restarted: Promise<void> = Promise.resolve()
  let failures = 0

  function watch(postmaster: Postmaster): void {
    current = postmaster
    const startedAt = Date.now()
    postmaster.whenGone(() => {
      if (stopping.signal.aborted) return
      if (Date.now() - startedAt > steadyMs) failures = 0
      plan.log.error({ pid: postmaster.mark.pid }, 'PostgreSQL ended unexpectedly; starting it again')
      restarted = restart()
    })
  }

  async function restart(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await sleep(Math.min(firstDelayMs * 2 ** failures++, longestDelayMs), undefined, { signal: stopping.signal })
        watch(await startPostmaster(plan, stopping.signal))
        plan.log.info({ pid: current.mark.pid }, 'PostgreSQL runs again')
        return
      } catch (error) {
        if (!stopping.signal.aborted) plan.log.error({ err: error }, 'PostgreSQL could not be started again; trying on')
      }
    }
  }

  // For a process that exits without stop(): an exit handler cannot wait, but the server ends well on its own once told.
  const tellServer = () => signalProcess(current.mark, 'SIGINT')
  process.once('exit', tellServer)
  watch(current)

  return {
    async stop() {
      stopping.abort()
      await restarted
      await stopPostmaster(current.mark, plan.log)
      process.removeListener('exit', tellServer)
    },
  }
}
