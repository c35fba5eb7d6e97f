import { readFileSync } from 'node:fs'

/** Processor time in ms that a process and what it has started have used so far, as Linux counts it: in steps of 10 ms. */
export function processorTimeMs(pid: number): number {
  const [utime, stime, cutime, cstime] = fieldsOf(pid)
  // Of children that have ended, the parent keeps the sum; those that live count for themselves.
  return 10 * (utime + stime + cutime + cstime) + childrenOf(pid).reduce((sum, child) => sum + timeOfLiving(child), 0)
}

/** One that ends in this moment is in its parent's sum the next time. */
function timeOfLiving(pid: number): number {
  try {
    return processorTimeMs(pid)
  } catch {
    return 0
  }
}

/** /proc/…/stat: the name in brackets may hold spaces, and the 14th to 17th fields are the times. */
function fieldsOf(pid: number): [number, number, number, number] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).map(Number) as [number, number, number, number]
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
