import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, machine, median, report, until } from './support.ts'

/** From the command to the first answer, with a new data folder and with one that is there. */
const rounds = 3

export async function run(): Promise<void> {
  console.log(`start: median of ${rounds}; ${machine()}`)
  const [fresh, later]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'posthaste-bench-'))
    chmodSync(folder, 0o711)
    fresh.push(await startOnce(folder))
    later.push(await startOnce(folder))
    rmSync(folder, { recursive: true, force: true })
  }
  report('fresh data folder', `${(median(fresh) / 1000).toFixed(2)} s`, 'under 4 s', median(fresh) < 4_000)
  report('existing data folder', `${(median(later) / 1000).toFixed(2)} s`, 'under 1.5 s', median(later) < 1_500)
}

async function startOnce(folder: string): Promise<number> {
  const port = await freePort()
  const began = performance.now()
  const child = spawn('npm', ['start', '--silent'], {
    env: { ...process.env, PORT: String(port), SMTP_PORT: '0', DATA_DIR: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  })
  const url = `http://localhost:${port}/readyz`
  await until(async () => (await fetch(url)).ok)
  const ms = performance.now() - began
  const group = -(child.pid as number)
  // As Ctrl-C does it: to the whole group, npm included, which ends before the program has.
  process.kill(group, 'SIGINT')
  await until(async () => !isThere(group))
  return ms
}

function isThere(group: number): boolean {
  try {
    return process.kill(group, 0)
  } catch {
    // ESRCH: nobody is left in it.
    return false
  }
}
