import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import { createLog } from '../base/log.ts'
import { createSecrets, loadSecretKey } from '../base/secrets.ts'
import { troubleOf } from '../base/trouble.ts'
import { onWake, wake } from '../base/wake.ts'
import { dataDirOf } from '../database/connect.ts'
import { type ConnectionSettings, openDatabase } from '../database/database.ts'
import { type Counts, takeCounts } from '../metrics/counters.ts'
import { beatEveryMs } from './pulse.ts'
import { startSenderRole } from './sender.ts'
import { createSendingParts } from './sending-parts.ts'

export interface SenderThreadData {
  config: Config
  connection: ConnectionSettings
}
/** What the thread is told: to stop, or that there is something to do. */
export type ToSenderThread = 'stop' | 'messages' | 'broadcasts'
/** A beat says that it turns, and what there is to know of it. */
export type FromSenderThread = 'started' | 'events' | Beat
export interface Beat {
  /** What `troubleOf` says in there. */
  trouble: string | null
  /** Since the beat before. */
  counts: Counts
}

/** Claims, settlements and what is put together between them, one at a time each; single messages settle several at once. */
const poolSize = 8

/**
 * What the thread does that `start-sender-thread.ts` starts. It shares nothing with the one that serves requests but the configuration:
 * connections, transport and keys are its own, as in a process apart.
 */
export async function runSenderThread(): Promise<void> {
  const { config, connection } = workerData as SenderThreadData
  const log = createLog(config.LOG_LEVEL)
  // From the start: what is settled of the last run may take its time.
  setInterval(() => tell({ trouble: troubleOf(log), counts: takeCounts() }), beatEveryMs)
  const clock = systemClock
  const database = openDatabase({ connection, clock, log, poolSize })
  const secrets = createSecrets(loadSecretKey(config.SECRET_KEY, dataDirOf(config), { mayMake: false }))
  const { transport, signers } = createSendingParts({ config, database, secrets, clock, log })
  const stopRole = await startSenderRole({ database, clock, log, config, secrets, transport, signers })
  const stop = async () => {
    await stopRole()
    await transport.close()
    await database.close()
    process.exit()
  }
  parentPort?.on('message', (told: ToSenderThread) => {
    if (told === 'stop') void stop()
    else wake(told)
  })
  onWake('events', () => tell('events'))
  tell('started')
}

const tell = (what: FromSenderThread): void => parentPort?.postMessage(what)
