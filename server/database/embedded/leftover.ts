import { readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
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

/** A server that outlived its parent. When there is none, the way is free for a new one. */
export async function findLeftover(cluster: string): Promise<ProcessMark | undefined> {
  const file = readPostmasterFile(cluster)
  if (!file) return undefined
  const mark = markProcess(file.pid)
  if (mark && isPostmasterOf(cluster, file.pid)) return mark
  // A server in another container is not in our list of processes, but its socket is on the shared volume and answers.
  if (file.socketFolder && (await isAnswering(socketPath(file.socketFolder))))
    throw new Error(
      `The database in ${cluster} is in use by a PostgreSQL of another container: stop that one first, or set DATA_DIR to another folder.`,
    )
  // Where another process has the number now, PostgreSQL would refuse to start because of it. The interlock that
  // matters, the shared memory of surviving children, does not need this file.
  if (mark) rmSync(filePath(cluster), { force: true })
  return undefined
}

function isAnswering(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
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
