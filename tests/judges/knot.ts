import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { recordStrings } from '../../server/mail/dkim/keys.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** Knot DNS as Debian ships it, with a zone that is edited while it runs, as owners of domains do. */
export interface Knot {
  /** As DNS_SERVERS wants it. */
  address: string
  set(record: { type: string; name: string; value: string; ttl?: number }): Promise<void>
  /** All records of that type, or of all types. */
  unset(name: string, type?: string): Promise<void>
  stop(): Promise<void>
}

const programs = ['/usr/sbin/knotd', '/usr/sbin/knotc']

/** Why this judge cannot be asked here; false when it can. */
export const whyNoKnot = (): string | false =>
  programs.every((path) => existsSync(path)) ? false : 'left out: knot from Debian not installed (.ci/run installs what is needed)'

const run = promisify(execFile)

/** Serves `test.`, and says that its name server is this one. */
export async function startKnot(): Promise<Knot> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-knot-'))
  mkdirSync(join(folder, 'db'))
  const port = await freePort()
  writeFileSync(join(folder, 'knot.conf'), settings(folder, port))
  writeFileSync(join(folder, 'test.zone'), zone)
  const config = join(folder, 'knot.conf')
  const child = spawn('/usr/sbin/knotd', ['-c', config], { stdio: ['ignore', 'pipe', 'pipe'] })
  const log: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => log.push(String(bytes)))
  const control = (...words: string[]) => run('/usr/sbin/knotc', ['-c', config, '-b', ...words])
  const isReady = () =>
    control('zone-status', 'test.').then(
      () => true,
      () => false,
    )
  await until('knot to serve its zone', isReady).catch((error: Error) => {
    child.kill('SIGKILL')
    throw new Error(`${error.message}\n${log.join('')}`)
  })
  const edit = async (...words: string[]) => {
    await control('zone-begin', 'test.')
    // An unset of what is not there fails, and says nothing new.
    const failed = await control(...words).then(
      () => null,
      (error: Error) => error,
    )
    await control('zone-commit', 'test.')
    if (failed && words[0] === 'zone-set') throw failed
  }
  return {
    address: `127.0.0.1:${port}`,
    set: ({ type, name, value, ttl = 60 }) => edit('zone-set', 'test.', `${name}.`, String(ttl), type, dataOf(type, value)),
    unset: (name, type) => edit('zone-unset', 'test.', `${name}.`, ...(type ? [type] : [])),
    stop: () => stop(child, folder),
  }
}

/** As a zone file writes it: texts in strings of 255, names with their dot. */
function dataOf(type: string, value: string): string {
  if (type === 'TXT')
    return recordStrings(value)
      .map((part) => `"${part.replace(/["\\]/g, '\\$&')}"`)
      .join(' ')
  return type === 'CNAME' || type === 'MX' || type === 'NS' ? `${value}.` : value
}

const settings = (folder: string, port: number) => `
server:
    rundir: ${folder}
    listen: 127.0.0.1@${port}
    background-workers: 1
    udp-workers: 1
    tcp-workers: 1
database:
    storage: ${folder}/db
log:
  - target: stderr
    any: warning
zone:
  - domain: test.
    storage: ${folder}
    file: test.zone
    zonefile-sync: -1
    zonefile-load: whole
    journal-content: none
`

const zone = `$ORIGIN test.
$TTL 60
@ SOA ns.test. hostmaster.test. 1 3600 600 86400 60
@ NS ns.test.
ns A 127.0.0.1
rp.posthaste MX 10 posthaste.test.
rp.posthaste TXT "v=spf1 ip4:127.0.0.1 -all"
`

async function stop(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null) {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
}
