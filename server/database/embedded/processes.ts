import { spawnSync } from 'node:child_process'
import { readFileSync, readlinkSync, statSync } from 'node:fs'
import { basename } from 'node:path'

/** A process id alone may be given to another process; with the time of its start it names one process for good. */
export interface ProcessMark {
  pid: number
  start: string
}

const hasProc = process.platform === 'linux'

/** Undefined when there is no such process, or only its zombie, which some containers' first process never collects. */
export function markProcess(pid: number): ProcessMark | undefined {
  const [state, start] = hasProc ? readProcStat(pid) : readPs(pid)
  return state === undefined || start === undefined || /^[ZX]/.test(state) ? undefined : { pid, start }
}

export const isRunning = (mark: ProcessMark): boolean => markProcess(mark.pid)?.start === mark.start

/** False when it was gone already. */
export function signalProcess(mark: ProcessMark, signal: NodeJS.Signals): boolean {
  if (!isRunning(mark)) return false
  try {
    return process.kill(mark.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    throw error
  }
}

/** proc_pid_stat(5): the name in parentheses may hold anything; field 3 is the state, 22 the start in ticks since boot. */
function readProcStat(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [fields[0] ?? '', fields[19] ?? '']
  } catch {
    // ENOENT or ESRCH: no such process.
    return []
  }
}

const readPs = (pid: number): string[] =>
  runPs(pid, 'stat=,lstart=')
    .match(/^(\S+)\s+(.+)$/)
    ?.slice(1) ?? []

const runPs = (pid: number, format: string): string =>
  spawnSync('ps', ['-o', format, '-p', String(pid)], { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C' } }).stdout?.trim() ?? ''

/** Whether this process is the postmaster of this very folder, and not something else that got its number. */
export function isPostmasterOf(cluster: string, pid: number): boolean {
  if (!hasProc) {
    const command = runPs(pid, 'command=')
    return command.includes('postgres') && command.includes(cluster)
  }
  try {
    // The server works inside its cluster. Its children do too, but change their command lines to "postgres: …".
    const [here, there] = [statSync(cluster), statSync(`/proc/${pid}/cwd`)]
    const isInside = here.ino === there.ino && here.dev === there.dev
    const program = basename(readlinkSync(`/proc/${pid}/exe`)).replace(' (deleted)', '')
    return isInside && program === 'postgres' && !readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('postgres: ')
  } catch {
    // Gone, or not ours to look at, which the server of a cluster of ours always is.
    return false
  }
}
