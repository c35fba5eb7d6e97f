import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** Postfix and OpenDKIM as Debian ships them, with a folder of their own: every mail to the judge's domains ends in one Maildir. */
export interface Postfix {
  port: number
  /** What was delivered so far, as it lies on the disk. */
  delivered(): Buffer[]
  /** Of both programs, to tell why something did not arrive. */
  log(): string
  stop(): Promise<void>
}

const programs = { postfix: '/usr/sbin/postfix', opendkim: '/usr/sbin/opendkim' }
const daemons = '/usr/lib/postfix/sbin'

/** Why this judge cannot be asked here; false when it can. */
export function whyNoPostfix(): string | false {
  const missing = Object.entries(programs).flatMap(([name, path]) => (existsSync(path) ? [] : [name]))
  if (missing.length > 0) return `left out: ${missing.join(' and ')} from Debian not installed (.ci/run installs what is needed)`
  return process.getuid?.() === 0 ? false : 'left out: Postfix is only started by root'
}

export async function startPostfix({ domains, dnsServer }: { domains: string[]; dnsServer: string }): Promise<Postfix> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-postfix-'))
  // The daemons run as users of their own, who must be able to enter.
  chmodSync(folder, 0o755)
  const [port, milterPort] = [await freePort(), await freePort()]
  const owner = { uid: idOf('-u', 'postfix'), gid: idOf('-g', 'postfix') }
  for (const name of ['queue', 'data', 'mail']) mkdirSync(join(folder, name))
  for (const name of ['data', 'mail']) chownSync(join(folder, name), owner.uid, owner.gid)
  const [host, dnsPort] = dnsServer.split(':') as [string, string]
  const files = {
    'main.cf': mainSettings({ folder, milterPort, domains, ...owner }),
    'master.cf': masterSettings(port),
    'opendkim.conf': milterSettings(folder, milterPort),
    'unbound.conf': resolverSettings(`${host}@${dnsPort}`),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const logs: string[] = []
  const children = [
    start(programs.opendkim, ['-f', '-x', join(folder, 'opendkim.conf')], logs),
    start(programs.postfix, ['-c', folder, 'start-fg'], logs),
  ]
  const log = () => `${logs.join('')}${existsSync(join(folder, 'mail.log')) ? readFileSync(join(folder, 'mail.log'), 'utf8') : ''}`
  for (const listening of [milterPort, port]) await untilListening(listening, log)
  const arrived = join(folder, 'mail', 'all', 'new')
  return {
    port,
    log,
    delivered: () => (existsSync(arrived) ? readdirSync(arrived).map((name) => readFileSync(join(arrived, name))) : []),
    async stop() {
      // Its master is no child of ours, and knows by its folder whom to stop.
      execFileSync(programs.postfix, ['-c', folder, 'stop'], { stdio: 'ignore' })
      for (const child of children) await ended(child)
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

const idOf = (flag: '-u' | '-g', user: string): number => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }))

const mainSettings = (settings: { folder: string; milterPort: number; domains: string[]; uid: number; gid: number }): string => `
compatibility_level = 3.6
queue_directory = ${settings.folder}/queue
data_directory = ${settings.folder}/data
command_directory = /usr/sbin
daemon_directory = ${daemons}
mail_owner = postfix
setgid_group = postdrop
maillog_file = ${settings.folder}/mail.log
maillog_file_prefixes = ${settings.folder}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = judge.test
mydestination =
alias_maps =
virtual_mailbox_domains = ${settings.domains.join(' ')}
virtual_mailbox_base = ${settings.folder}/mail
virtual_mailbox_maps = static:all/
virtual_uid_maps = static:${settings.uid}
virtual_gid_maps = static:${settings.gid}
smtpd_milters = inet:127.0.0.1:${settings.milterPort}
milter_default_action = tempfail
smtpd_client_connection_count_limit = 0
`

/** Debian's table without the chroot, and with a port that is ours. */
const masterSettings = (port: number): string => `
127.0.0.1:${port} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`

/** It only verifies; mail from this machine would otherwise count as its own and not be looked at. */
const milterSettings = (folder: string, port: number): string => `
Mode v
Socket inet:${port}@127.0.0.1
InternalHosts 192.0.2.1
AuthservID judge.test
AlwaysAddARHeader yes
ResolverConfiguration ${folder}/unbound.conf
Syslog no
UserID opendkim
`

/** Everything is asked of one server on this machine, also what is below "test", which a resolver otherwise knows not to exist. */
const resolverSettings = (server: string): string => `
server:
  do-not-query-localhost: no
  local-zone: "test." nodefault
  module-config: "iterator"
forward-zone:
  name: "."
  forward-addr: ${server}
`

function start(program: string, args: string[], logs: string[]): ChildProcess {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => logs.push(chunk.toString()))
  return child
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

const untilListening = (port: number, log: () => string): Promise<unknown> =>
  until(`a judge on port ${port}`, () => isListening(port)).catch((error: Error) => {
    throw new Error(`${error.message}\n${log()}`)
  })

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const answer = (is: boolean) => () => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', answer(true)).once('error', answer(false))
  })
