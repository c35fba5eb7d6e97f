import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'

/** What others do with the same two cores: nodemailer's pool, Postfix's load generator in C, and OpenSSL. All in things a second. */

export interface SmtpLoad {
  port: number
  count: number
  connections: number
  /** The recipient of everything, where the server looks at it. */
  to?: string
  /** A message to send again and again, in place of one that smtp-source makes up. */
  file?: string
}

interface Mail {
  subject: string
  html: string
  text: string
}

/** The same newsletter, put together and sent by nodemailer. */
export async function nodemailerRate({ port, count, connections }: SmtpLoad, newsletterFor: (n: number) => Mail): Promise<number> {
  const options = { pool: true as const, host: '127.0.0.1', port, maxConnections: connections, maxMessages: 1_000_000, ignoreTLS: true }
  const pool = createTransport(options)
  const began = performance.now()
  let next = 0
  const worker = async () => {
    while (next < count) {
      const number = next++
      await pool.sendMail({
        from: { name: 'Ann Lee', address: 'ann@bench.test' },
        to: { name: `Reader ${number}`, address: `reader${number}@example.org` },
        ...newsletterFor(number),
        headers: { 'List-Unsubscribe': '<https://news.example.com/u/x>', 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
      })
    }
  }
  await Promise.all(Array.from({ length: 2 * connections }, worker))
  pool.close()
  return (count * 1000) / (performance.now() - began)
}

/** Null where there is none. */
export async function smtpSourceRate(
  { port, count, connections, to = 'b@bench.test', file }: SmtpLoad,
  octets: number,
): Promise<number | null> {
  const found = findSmtpSource()
  if (!found) return null
  const began = performance.now()
  const content = file ? ['-F', file] : ['-l', String(octets)]
  const options = ['-d', '-s', String(connections), '-m', String(count), ...content, '-f', 'a@bench.test', '-t', to]
  const child = spawn(found.path, [...options, `127.0.0.1:${port}`], { stdio: 'ignore', env: { ...process.env, ...found.env } })
  const [code] = (await once(child, 'exit')) as [number]
  if (code !== 0) throw new Error(`smtp-source ended with ${code}`)
  return (count * 1000) / (performance.now() - began)
}

/** The one of this machine, else the one out of Debian's package, which is unpacked and not installed. */
function findSmtpSource(): { path: string; env: Record<string, string> } | null {
  for (const path of ['/usr/sbin/smtp-source', '/usr/local/sbin/smtp-source']) if (existsSync(path)) return { path, env: {} }
  const folder = join(tmpdir(), 'posthaste-bench-postfix')
  const path = join(folder, 'usr/sbin/smtp-source')
  try {
    if (!existsSync(path)) unpackPostfix(folder)
  } catch {
    // Not a Debian, or no network: the report says that it is missing.
    return null
  }
  return { path, env: { LD_LIBRARY_PATH: join(folder, 'usr/lib/postfix') } }
}

function unpackPostfix(folder: string): void {
  mkdirSync(folder, { recursive: true })
  execFileSync('apt-get', ['download', 'postfix'], { cwd: folder, stdio: 'ignore' })
  const name = readdirSync(folder).find((file) => file.endsWith('.deb'))
  if (!name) throw new Error('apt-get brought no package')
  execFileSync('dpkg', ['-x', join(folder, name), folder])
}

/** RSA-2048 signatures on both cores; null where there is no openssl. */
export function opensslRate(seconds = 3): number | null {
  try {
    const output = execFileSync('openssl', ['speed', '-multi', '2', '-seconds', String(seconds), 'rsa2048'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return Number(/^rsa 2048 bits\s+\S+\s+\S+\s+([\d.]+)/m.exec(output)?.[1] ?? Number.NaN) || null
  } catch {
    return null
  }
}
