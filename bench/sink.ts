import { fork } from 'node:child_process'
import { once } from 'node:events'

/** The discarding sink in a process of its own. */
export interface Sink {
  port: number
  pid: number
  /** How many messages it has taken so far. */
  taken(): Promise<number>
  stop(): void
}

export async function startSink(): Promise<Sink> {
  const child = fork(new URL('./smtp-sink.ts', import.meta.url))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    port,
    pid: child.pid as number,
    async taken() {
      const answer = once(child, 'message')
      child.send('how many?')
      const [{ taken }] = (await answer) as [{ taken: number }]
      return taken
    },
    stop: () => void child.kill(),
  }
}
