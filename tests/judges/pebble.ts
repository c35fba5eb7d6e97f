import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../support/free-port.ts'
import { peerCertificate, peerKey } from '../support/peer-certificate.ts'
import { until } from '../support/until.ts'

/** Pebble, the certificate authority that Let's Encrypt gives to those who write clients, as Debian ships it. */
export interface Pebble {
  url: string
  /** File with what its own server is trusted by. */
  caFile: string
  /** What its certificates are trusted by: made anew on each start. */
  root(): Promise<string>
  log(): string
  stop(): Promise<void>
}

/** Why this judge cannot be asked here; false when it can. */
export function whyNoPebble(): string | false {
  try {
    execFileSync('which', ['pebble'], { stdio: 'ignore' })
    return false
  } catch {
    return 'left out: pebble from Debian not installed (.ci/run installs what is needed)'
  }
}

interface Settings {
  /** Where it looks for the proofs of HTTP-01. */
  httpPort: number
  dnsServer: string
  /** It refuses so many of a hundred good nonces; one in twenty by itself. */
  refusedNonces?: number
}

export async function startPebble({ httpPort, dnsServer, refusedNonces = 5 }: Settings): Promise<Pebble> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-pebble-'))
  const [port, managementPort] = [await freePort(), await freePort()]
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: file('cert.pem', peerCertificate),
    privateKey: file('key.pem', peerKey),
    httpPort,
    tlsPort: 1,
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  }
  const logs: string[] = []
  const child = spawn('pebble', ['-config', file('config.json', JSON.stringify({ pebble })), '-dnsserver', dnsServer, '-strict'], {
    env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: String(refusedNonces) },
  })
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => logs.push(text))
  const log = () => logs.join('')
  await until('pebble listens', () => fetchText(`https://localhost:${port}/dir`).then(Boolean, () => false)).catch((error: Error) => {
    child.kill('SIGKILL')
    throw new Error(`${error.message}\n${log()}`)
  })
  return {
    url: `https://localhost:${port}/dir`,
    caFile: join(folder, 'cert.pem'),
    root: () => fetchText(`https://localhost:${managementPort}/roots/0`),
    log,
    async stop() {
      const ended = once(child, 'exit')
      // Otherwise it waits for those who are connected.
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function fetchText(url: string): Promise<string> {
  const asked = request(url, { ca: peerCertificate, agent: false, signal: AbortSignal.timeout(5_000) }).end()
  const [response] = await once(asked, 'response')
  return (await response.toArray()).join('')
}
