import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Config } from '../base/config.ts'
import { dataDirOf } from '../database/connect.ts'
import { isReachableByServerUser } from '../database/embedded/index.ts'
import type { Check } from './doctor-check.ts'

/** bin/posthaste.js refuses the same; this tells it beforehand. */
export function checkNode(version = process.versions.node): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 18)) return { name: 'node', state: 'good', seen: version }
  return {
    name: 'node',
    state: 'bad',
    seen: `${version}, and 22.18 or newer is needed`,
    next: 'Install a newer Node, or run "npm install" again.',
  }
}

const gigabyte = 1024 ** 3

/** A folder that does not exist yet is judged by the nearest one that does. */
export function checkDataFolder(config: Config): Check {
  const name = 'data folder'
  const dataDir = dataDirOf(config)
  let folder = dataDir
  while (!existsSync(folder)) folder = dirname(folder)
  const isNeeded = !config.DATABASE_URL || !config.SECRET_KEY
  if (!isWritable(folder)) {
    const next = 'Set DATA_DIR to a folder that this user may write to.'
    return { name, state: isNeeded ? 'bad' : 'warning', seen: `${dataDir} cannot be written to`, next }
  }
  if (!config.DATABASE_URL && !isReachableByServerUser(dataDir)) {
    const next = 'Open the folders above it to others ("chmod o+x"), or set DATA_DIR to another, such as /var/lib/posthaste.'
    return { name, state: 'bad', seen: `${dataDir} is closed to the user that PostgreSQL runs as`, next }
  }
  return checkSpace(name, dataDir, folder)
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function checkSpace(name: string, dataDir: string, folder: string): Check {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const seen = `${dataDir}, ${(free / gigabyte).toFixed(1)} GiB free`
  if (free < gigabyte / 10) return { name, state: 'bad', seen, next: 'Free some space: the database stops when the disk is full.' }
  if (free < gigabyte) return { name, state: 'warning', seen, next: 'Free some space soon: the database stops when the disk is full.' }
  return { name, state: 'good', seen }
}

const mostSkewMs = 5_000

/** Links, keys and retries are judged by our clock, and rows are stamped by both. */
export function checkClock(skewMs: number | null, now = new Date()): Check {
  const name = 'clock'
  const seen = now.toISOString() + (skewMs === null ? '' : `, ${(skewMs / 1000).toFixed(1)} s from the database’s`)
  if (now.getUTCFullYear() < 2025 || now.getUTCFullYear() > 2100) return { name, state: 'bad', seen, next: 'Set the machine’s clock.' }
  if (Math.abs(skewMs ?? 0) > mostSkewMs) return { name, state: 'warning', seen, next: 'Set both machines’ clocks by NTP.' }
  return { name, state: 'good', seen }
}
