import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { createAcme } from '../../server/acme/index.ts'
import type { ConnectionSettings } from '../../server/database/database.ts'
import type { CertificateRow } from '../../server/features/certificates/certificate.ts'
import { orderCertificate, type WantedCertificate } from '../../server/features/certificates/index.ts'
import { createTending, type Tending } from '../../server/features/certificates/tend-certificates.ts'
import { type AcmePeer, startAcmePeer } from './acme-peer.ts'
import { type DnsPeer, startDnsPeer } from './dns-peer.ts'
import { freePort } from './free-port.ts'
import { peerCertificate } from './peer-certificate.ts'
import { createTestClock, startApp, type TestApp } from './posthaste.ts'
import { until } from './until.ts'

/** What an authority must tell to be asked. */
interface Authority {
  url: string
  stop(): Promise<void>
}

interface Place {
  httpPort: number
  dns: DnsPeer
  dnsServer: string
}

export interface Setup<Judge extends Authority = AcmePeer> {
  app: TestApp
  judge: Judge
  /** The same by another name. */
  acme: Judge
  dns: DnsPeer
  httpsPort: number
  /** The target that hosts of sites lead to. */
  target: string
}

export function startWithAuthority(env?: Record<string, string>, startJudge?: undefined, connection?: ConnectionSettings): Promise<Setup>
export function startWithAuthority<Judge extends Authority>(
  env: Record<string, string>,
  startJudge: (place: Place) => Promise<Judge>,
): Promise<Setup<Judge>>
/** The program, a certificate authority that looks at it (ours, unless another is given), and a DNS server that both ask. */
export async function startWithAuthority(
  env: Record<string, string> = {},
  startJudge: (place: Place) => Promise<Authority> = startAcmePeer,
  connection?: ConnectionSettings,
): Promise<Setup<Authority>> {
  const target = 'sites.posthaste.test'
  const dns = await startDnsPeer({ [target]: { A: ['127.0.0.1'] } })
  const [port, httpsPort] = [await freePort(), await freePort()]
  const clock = createTestClock()
  const judge = await startJudge({ httpPort: port, dns, dnsServer: dns.address })
  if ('settings' in judge) (judge as AcmePeer).settings.now = clock.now
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-acme-'))
  writeFileSync(join(folder, 'root.pem'), peerCertificate)
  const app = await startApp(
    {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      HTTPS_PORT: String(httpsPort),
      ACME_DIRECTORY_URL: judge.url,
      ACME_CA_FILE: join(folder, 'root.pem'),
      ACME_EMAIL: 'owner@example.com',
      SITE_TARGET: target,
      DNS_SERVERS: dns.address,
      ALLOW_PRIVATE_WEBHOOKS: 'true',
      ...env,
    },
    { clock, ...(connection ? { connection } : {}) },
  )
  after(async () => {
    await app.stop()
    await judge.stop()
    await dns.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { app, judge, acme: judge, dns, httpsPort, target }
}

export const order = ({ services }: TestApp, wanted: WantedCertificate): Promise<void> =>
  services.database.transaction((tx) => orderCertificate(services, tx, wanted))

export const rowOf = async ({ services: { database } }: TestApp, host: string): Promise<CertificateRow> =>
  (await database.first<CertificateRow>`select * from certificates where host = ${host}`)!

/** The row once it is as wanted. */
export const untilRow = (app: TestApp, host: string, isSo: (row: CertificateRow) => boolean): Promise<CertificateRow> =>
  until(`the certificate of ${host}`, async () => {
    const row = await rowOf(app, host)
    return row && isSo(row) ? row : null
  }).catch(async (error: Error) => {
    const { private_key, order_key, chain, ...rest } = (await rowOf(app, host)) ?? {}
    throw new Error(`${error.message}: ${JSON.stringify({ ...rest, has_chain: chain !== null })}`)
  })

export interface Visit {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
  issuer: string
  serial: string
}

/** As a browser that trusts this root, sent to our port by DNS. */
export function visit({ host, port, ca, path = '/healthz' }: { host: string; port: number; ca: string; path?: string }): Promise<Visit> {
  const { promise, resolve, reject } = Promise.withResolvers<Visit>()
  const asked = request({
    host: '127.0.0.1',
    port,
    path,
    servername: host,
    headers: { host },
    ca,
    agent: false,
    signal: AbortSignal.timeout(30_000),
  })
  asked.on('error', reject)
  asked.on('response', async (response) => {
    const certificate = (response.socket as import('node:tls').TLSSocket).getPeerCertificate()
    const body = (await response.toArray()).join('')
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      body,
      issuer: String(certificate.issuer.CN),
      serial: certificate.serialNumber,
    })
  })
  asked.end()
  return promise
}

export interface Driven extends Setup {
  /** A process that orders certificates, as often as its `step` is called. */
  node(): Tending
  /** Steps of one process, with time passing when nothing is due, until the certificate is as wanted. */
  drive(host: string, isSo: (row: CertificateRow) => boolean, tending?: Tending): Promise<CertificateRow>
}

/** The same without a process that orders by itself: the test takes each step. */
export async function startDriven(env: Record<string, string> = {}): Promise<Driven> {
  const setup = await startWithAuthority({ ROLES: 'http', ...env })
  const { app, acme } = setup
  const node = () => {
    const client = createAcme({ directoryUrl: acme.url, ca: peerCertificate, clock: app.clock })
    after(() => client.close())
    const tending = createTending(app.services, client)
    const step = async () => {
      const isBusy = await tending.step()
      await tending.settled()
      return isBusy
    }
    return { ...tending, step }
  }
  const drive: Driven['drive'] = async (host, isSo, tending = node()) => {
    for (let count = 0; count < 200; count++) {
      const row = await rowOf(app, host)
      if (isSo(row)) return row
      if (!(await tending.step())) app.clock.advance(1_000)
    }
    const { step, problem, due_at, troubles, failures } = await rowOf(app, host)
    throw new Error(
      `Not there after 200 steps: ${JSON.stringify({ step, problem, due_at, troubles, failures, asked: acme.asked.slice(-10) })}`,
    )
  }
  return { ...setup, node, drive }
}

export const isIssued = ({ chain, step }: CertificateRow): boolean => chain !== null && step === 'idle'
