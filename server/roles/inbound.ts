import { Resolver } from 'node:dns/promises'
import type { Config } from '../base/config.ts'
import { dataDirOf } from '../database/connect.ts'
import { fileMessages } from '../features/filing/index.ts'
import { followCertificate, keepOwnCertificate, readCertificate } from '../inbound/certificate.ts'
import { createNetworks } from '../inbound/networks.ts'
import { createParsePool } from '../inbound/parse-pool.ts'
import { startSpoolLoop } from '../inbound/process-spool.ts'
import { startSmtpServer } from '../inbound/smtp-server.ts'
import type { Taker } from '../inbound/spool.ts'
import type { Services } from '../operations/context.ts'

export interface InboundRole {
  /** Where mail is taken in. */
  port: number
  stop(): Promise<unknown>
}

/** Takes in mail over SMTP, and files what was taken in. */
export async function startInboundRole(services: Services): Promise<InboundRole> {
  const { log, config } = services
  const filing = startFiling(services)
  const files = certificateFiles(config)
  const server = await startServer(services, { files, taker: filing.taker }).catch(async (error: unknown) => {
    await filing.stop()
    throw error
  })
  const following = files ? followCertificate(files, { log, onChange: server.renew }) : null
  return {
    port: server.port,
    async stop() {
      following?.stop()
      await server.stop()
      await filing.stop()
    },
  }
}

async function startServer(services: Services, { files, taker }: { files: CertificateFiles | null; taker: Taker }) {
  const { config } = services
  return startSmtpServer({
    ...services,
    resolver: createResolver(config),
    host: config.SMTP_HOST,
    port: config.SMTP_PORT,
    mailDomain: config.MAIL_DOMAIN,
    certificate: files ? readCertificate(files) : ownCertificate(services),
    maxSize: config.SMTP_MAX_SIZE,
    maxConnections: config.SMTP_CONNECTIONS,
    proxies: config.SMTP_PROXY_PROTOCOL,
    relays: config.SMTP_RELAYS,
    dnsbl: config.DNSBL,
    isGreylisting: config.GREYLISTING,
    taker,
  })
}

/** From the spool to the mailboxes; what was taken in before a stop is filed after the next start. */
function startFiling(services: Services) {
  const { log, config } = services
  const isRelay = createNetworks(config.SMTP_RELAYS)
  const pool = createParsePool({ log, mailDomain: config.MAIL_DOMAIN, dnsServers: config.DNS_SERVERS, isRelay })
  const loop = startSpoolLoop({ ...services, pool, isRelay, file: (batch) => fileMessages(services, batch) })
  return {
    taker: loop.taker,
    async stop() {
      await loop.stop()
      await pool.stop()
    },
  }
}

const ownCertificate = ({ config, clock }: Services) => keepOwnCertificate({ dataDir: dataDirOf(config), host: config.MAIL_DOMAIN, clock })

interface CertificateFiles {
  cert: string
  key: string
}

const certificateFiles = ({ SMTP_TLS_CERT: cert, SMTP_TLS_KEY: key }: Config): CertificateFiles | null =>
  cert !== null && key !== null ? { cert, key } : null

function createResolver({ DNS_SERVERS }: Config): Resolver {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  if (DNS_SERVERS.length > 0) resolver.setServers(DNS_SERVERS)
  return resolver
}
