import { Resolver } from 'node:dns/promises'
import { after } from 'node:test'
import { createLog } from '../../server/base/log.ts'
import { createSecrets } from '../../server/base/secrets.ts'
import { type ConnectionSettings, openDatabase } from '../../server/database/database.ts'
import { peerLimits } from '../../server/inbound/peer-limits.ts'
import { makeSelfSigned } from '../../server/inbound/self-signed.ts'
import { type InboundSmtpServer, type SmtpServerOptions, startSmtpServer } from '../../server/inbound/smtp-server.ts'
import { stageTimes } from '../../server/inbound/stage-times.ts'
import { cloneDatabase } from './database.ts'
import { createTestClock, type TestClock } from './posthaste.ts'
import { createProject, type TestProject } from './project.ts'

export const usualLimits = { peers: peerLimits, times: stageTimes }

export interface TestSmtpServer extends InboundSmtpServer {
  database: SmtpServerOptions['database']
  connection: ConnectionSettings
  secrets: SmtpServerOptions['secrets']
  clock: TestClock
  project: TestProject
  /** Where mail may go: the address, by the state of its mailbox. */
  addMailbox(local: string, mailbox?: { status?: string; expires_at?: Date }): Promise<string>
  /** What is in the spool for a recipient, oldest first. */
  spooledFor(recipient: string): Promise<SpooledRow[]>
}

export interface SpooledRow {
  peer: { address: string; name: string; is_tls: boolean }
  envelope_from: string
  recipients: string[]
  raw: Buffer
  attempts: number
  received_at: Date
  next_attempt_at: Date
}

/** The SMTP server alone, on a database of its own: nothing takes out of the spool what it puts in. */
export async function startTestSmtpServer(options: Partial<SmtpServerOptions> = {}): Promise<TestSmtpServer> {
  const cloned = await cloneDatabase()
  const clock = createTestClock()
  const log = createLog(process.env.LOG_LEVEL ?? 'silent')
  const database = openDatabase({ connection: cloned.connection, clock, log })
  const secrets = createSecrets('a key for tests, long enough to be taken')
  const years = { from: new Date('2026-01-01'), until: new Date('2126-01-01') }
  const server = await startSmtpServer({
    database,
    secrets,
    clock,
    log,
    resolver: new Resolver(),
    host: '127.0.0.1',
    port: 0,
    mailDomain: 'posthaste.test',
    certificate: makeSelfSigned({ host: 'posthaste.test', ...years }),
    maxSize: 1024 * 1024,
    maxConnections: 200,
    proxies: [],
    relays: [],
    dnsbl: [],
    isGreylisting: false,
    ...options,
  })
  let stopped: Promise<void> | null = null
  const stop = () => {
    stopped ??= server.stop()
    return stopped
  }
  after(async () => {
    await stop()
    await database.close()
    await cloned.drop()
  })
  const project = await createProject(database, '', [])
  return {
    ...server,
    stop,
    database,
    connection: cloned.connection,
    secrets,
    clock,
    project,
    async addMailbox(local, { status = 'active', expires_at } = {}) {
      const address = `${local}@posthaste.test`
      await database.run`
        insert into mailboxes (project_id, id, address, address_key, type, status, expires_at)
        values (${project.id}, gen_random_uuid(), ${address}, ${address.toLowerCase()}, 'persistent', ${status}, ${expires_at ?? null})`
      return address
    },
    spooledFor: (recipient) => database.many<SpooledRow>`select * from inbound_spool where ${recipient} = any (recipients) order by id`,
  }
}
