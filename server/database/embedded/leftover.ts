import { readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../../base/errors.ts'
import { isPostmasterOf, markProcess, type ProcessMark } from './processes.ts'
import { socketPath } from './socket-folder.ts'

type Status = 'starting' | 'ready' | 'stopping' | 'unknown'

interface PostmasterFile {
  pid: number
  socketFolder: string
  status: Status
}

const filePath = (cluster: string) => join(cluster, 'postmaster.pid')

/** Its lines: process id, data folder, start time, port, socket folder, TCP address, shared memory key, status. */
export function readPostmasterFile(cluster: string): PostmasterFile | undefined {
  try {
    const lines = readFileSync(filePath(cluster), 'utf8').split('\n')
    return { pid: Number(lines[0]), socketFolder: lines[4] ?? '', status: (lines[7]?.trim() || 'unknown') as Status }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** A server that outlived its parent. When there is none, what a killed one left is removed and the way is free for a new one. */
export async function findLeftover(cluster: string): Promise<ProcessMark | undefined> {
  const file = readPostmasterFile(cluster)
  if (!file) return undefined
  const mark = markProcess(file.pid)
  if (mark && isPostmasterOf(cluster, file.pid)) return mark
  if (file.socketFolder) await refuseForeignServer(cluster, file.socketFolder)
  // PostgreSQL would refuse to start because of this file where another process has the number now, or only a zombie. The
  // interlock that matters, the shared memory of surviving children, is found by the folder's inode.
  rmSync(filePath(cluster), { force: true })
  return undefined
}

/**
 * A server in another container is not in our list of processes, and PostgreSQL's own interlocks do not see it either, but its socket is on the
 * shared volume and answers. A socket that takes connections and stays silent is one that a killed server still holds while it ends.
 */
async function refuseForeignServer(cluster: string, socketFolder: string): Promise<void> {
  for (const deadline = Date.now() + silentMs; ; await sleep(20)) {
    const answer = await ringServer(socketPath(socketFolder))
    if (answer === 'nobody') return
    if (answer === 'server' || Date.now() > deadline)
      throw new OperatorError(
        `The database in ${cluster} is in use by a PostgreSQL that is not on this machine's list of processes, such as one in another container: ` +
          'stop that one first, or set DATA_DIR to another folder.',
      )
  }
}

const silentMs = 10_000
const ringMs = 1000
/** PostgreSQL protocol, "SSLRequest": answered with one byte before anything else is asked. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

function ringServer(path: string): Promise<'server' | 'silence' | 'nobody'> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(sslRequest))
    const hangUp = (answer: 'server' | 'silence' | 'nobody') => {
      resolve(answer)
      socket.destroy()
    }
    socket.setTimeout(ringMs, () => hangUp('silence'))
    socket.once('data', () => hangUp('server'))
    socket.once('close', () => hangUp('silence'))
    socket.once('error', ({ code }: NodeJS.ErrnoException) => hangUp(code === 'ECONNREFUSED' || code === 'ENOENT' ? 'nobody' : 'silence'))
  })
}

/** The command that the running server was started with, as PostgreSQL notes it down in postmaster.opts. */
export function wasStartedWith(cluster: string, program: string, args: string[]): boolean {
  try {
    return readFileSync(join(cluster, 'postmaster.opts'), 'utf8').trimEnd() === [program, ...args.map((arg) => `"${arg}"`)].join(' ')
  } catch {
    // Unreadable: then the server cannot be told to be like the one we would start.
    return false
  }
}
