import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Binaries } from './binaries.ts'
import { runError } from './cluster.ts'
import { findLeftover, readPostmasterFile, wasStartedWith } from './leftover.ts'
import { isRunning, markProcess, type ProcessMark, signalProcess } from './processes.ts'
import { openServerLog, readLastLines, serverLogPath } from './server-log.ts'
import { serverUser } from './server-user.ts'
import { serverEnvironment } from './settings.ts'
import { clearSocketFolder } from './socket-folder.ts'

export interface ServerPlan {
  dataDir: string
  cluster: string
  socketFolder: string
  binaries: Binaries
  args: string[]
  log: Log
  /** Asks a server, by connecting, which version it is. */
  askVersion(): Promise<string>
}

export interface Postmaster {
  mark: ProcessMark
  /** Calls back once when the process is gone, for whatever reason. Does not keep Node running. */
  whenGone(callback: () => void): void
}

const pollMs = process.platform === 'linux' ? 10 : 50
const busyRetryMs = 15_000
const fastShutdownMs = 10_000
const immediateShutdownMs = 20_000
const noteEveryMs = 10_000

/** A server left over by a killed parent is taken on when it is just what we would start, and stopped when it is not. */
export async function adoptLeftover(plan: ServerPlan): Promise<Postmaster | undefined> {
  const mark = await findLeftover(plan.cluster)
  if (!mark) return undefined
  if (
    wasStartedWith(plan.cluster, plan.binaries.postgres, plan.args) &&
    (await waitUntilReady(plan, mark)) &&
    (await isSameVersion(plan))
  ) {
    plan.log.info({ pid: mark.pid }, 'PostgreSQL was still running after the last process ended without stopping it; using it')
    return { mark, whenGone: (callback) => pollUntilGone(mark, callback) }
  }
  plan.log.info({ pid: mark.pid }, 'stopping a PostgreSQL left over from another release or other settings')
  await stopPostmaster(mark, plan.log)
  return undefined
}

async function isSameVersion(plan: ServerPlan): Promise<boolean> {
  try {
    return (await plan.askVersion()) === plan.binaries.version
  } catch (error) {
    // It may be shutting down just now. Then it is stopped the rest of the way, and a new one started.
    plan.log.warn({ err: error }, 'a PostgreSQL left over does not answer')
    return false
  }
}

function pollUntilGone(mark: ProcessMark, callback: () => void): void {
  const timer = setInterval(() => {
    if (isRunning(mark)) return
    clearInterval(timer)
    callback()
  }, 250)
  timer.unref()
}

/** Retried for as long as the children of a killed server hold on to its shared memory: they see to it within moments. */
export async function startPostmaster(plan: ServerPlan, signal?: AbortSignal): Promise<Postmaster> {
  const deadline = Date.now() + busyRetryMs
  for (;;) {
    if (!(await findLeftover(plan.cluster))) clearSocketFolder(plan.socketFolder)
    const { size, descriptor } = openServerLog(plan.dataDir)
    const postmaster = await spawnPostmaster(plan, descriptor).finally(() => closeSync(descriptor))
    const interrupt = () => signalProcess(postmaster.mark, 'SIGINT')
    signal?.addEventListener('abort', interrupt)
    if (signal?.aborted) interrupt()
    const isReady = await waitUntilReady(plan, postmaster.mark)
    signal?.removeEventListener('abort', interrupt)
    if (isReady) return postmaster
    // Told to stop meanwhile, it may not be gone yet.
    await stopPostmaster(postmaster.mark, plan.log)
    const lines = readLastLines(plan.dataDir, size)
    if (!isBusy(lines) || Date.now() > deadline || signal?.aborted)
      throw new OperatorError(`PostgreSQL did not start. The last lines of ${serverLogPath(plan.dataDir)}:\n${lines}`)
    await sleep(100)
  }
}

const isBusy = (lines: string) => lines.includes('pre-existing shared memory block') || lines.includes('"postmaster.pid" already exists')

async function spawnPostmaster(plan: ServerPlan, logDescriptor: number): Promise<Postmaster> {
  const child = spawn(plan.binaries.postgres, plan.args, {
    ...serverUser(),
    cwd: plan.cluster,
    env: serverEnvironment(),
    // Its own session: Ctrl-C in a terminal goes to us, and we stop the server when the work that needs it is done.
    detached: true,
    stdio: ['ignore', logDescriptor, logDescriptor],
  })
  await new Promise((resolve, reject) => child.once('spawn', resolve).once('error', reject)).catch((error) => {
    throw runError(plan.binaries.postgres, error)
  })
  child.unref()
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // 'spawn' has been emitted, so there is a process id; a process that ended at once has no mark, and any will do.
  const pid = child.pid as number
  return { mark: markProcess(pid) ?? { pid, start: 'ended' }, whenGone: (callback) => void exited.then(callback) }
}

/** False when the process ended first. There is no time limit: recovery after a crash takes what it takes. */
async function waitUntilReady(plan: ServerPlan, mark: ProcessMark): Promise<boolean> {
  const start = Date.now()
  let noteAt = start + noteEveryMs
  while (isRunning(mark)) {
    const file = readPostmasterFile(plan.cluster)
    if (file?.pid === mark.pid && file.status === 'ready') return true
    if (file?.pid === mark.pid && file.status === 'stopping') return false
    if (Date.now() > noteAt) {
      plan.log.info({ seconds: Math.round((Date.now() - start) / 1000) }, 'PostgreSQL is still starting, probably recovering from a crash')
      noteAt += noteEveryMs
    }
    await sleep(pollMs)
  }
  return false
}

/**
 * SIGINT is PostgreSQL's fast shutdown: sessions are ended, everything is written. SIGQUIT leaves without writing, which costs a
 * recovery at the next start and no data.
 */
export async function stopPostmaster(mark: ProcessMark, log: Log): Promise<void> {
  signalProcess(mark, 'SIGINT')
  if (await isGoneWithin(mark, fastShutdownMs)) return
  log.warn({ pid: mark.pid }, 'PostgreSQL did not stop in 10 seconds; stopping it at once, it will recover at the next start')
  signalProcess(mark, 'SIGQUIT')
  if (await isGoneWithin(mark, immediateShutdownMs)) return
  throw new OperatorError(`PostgreSQL (process id ${mark.pid}) does not stop.`)
}

async function isGoneWithin(mark: ProcessMark, ms: number): Promise<boolean> {
  for (const deadline = Date.now() + ms; Date.now() < deadline; await sleep(pollMs)) if (!isRunning(mark)) return true
  return !isRunning(mark)
}
