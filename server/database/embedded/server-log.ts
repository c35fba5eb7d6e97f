import { closeSync, fstatSync, openSync, readSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'

const rotateAboveBytes = 10 * 1024 * 1024
const quotedLines = 12

export const serverLogPath = (dataDir: string) => join(dataDir, 'postgres.log')

/** Opened by us and handed over as a descriptor, since the server's user may not create files in the data folder. */
export function openServerLog(dataDir: string): { descriptor: number; size: number } {
  const path = serverLogPath(dataDir)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > rotateAboveBytes) renameSync(path, `${path}.1`)
  const descriptor = openSync(path, 'a', 0o600)
  return { descriptor, size: fstatSync(descriptor).size }
}

/** The last lines written since the log had `fromByte` bytes, i.e. by this attempt to start. */
export function readLastLines(dataDir: string, fromByte: number): string {
  const descriptor = openSync(serverLogPath(dataDir), 'r')
  try {
    const end = fstatSync(descriptor).size
    const start = Math.max(fromByte, end - 8192)
    const buffer = Buffer.alloc(Math.max(0, end - start))
    readSync(descriptor, buffer, 0, buffer.length, start)
    return buffer.toString('utf8').trimEnd().split('\n').slice(-quotedLines).join('\n')
  } finally {
    closeSync(descriptor)
  }
}
