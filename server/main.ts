import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { type Clock, systemClock } from './base/clock.ts'
import { type Config, ConfigError } from './base/config.ts'
import { reasonOf } from './base/errors.ts'
import { createGuardedFetch } from './base/guarded-fetch/index.ts'
import type { Log } from './base/log.ts'
import { portProblem } from './base/port.ts'
import { createSecrets, loadSecretKey } from './base/secrets.ts'
import { inOne, troubleOf } from './base/trouble.ts'
import { wake } from './base/wake.ts'
import { createBlobStore } from './blobs/index.ts'
import { connectDatabase, type DatabaseServer, dataDirOf } from './database/connect.ts'
import { type Database, openDatabase } from './database/database.ts'
import { startListening } from './database/listen.ts'
import { migrate, newestMigration } from './database/migrate.ts'
import { makeFirstSigningKeys } from './delivery/first-signing-keys.ts'
import { createDns } from './dns/index.ts'
import { finishSends } from './features/emails/index.ts'
import { bootstrap, type FirstStart, findInstance } from './features/identity/index.ts'
import { mailChannel } from './features/mailboxes/index.ts'
import { allJobs } from './jobs/all-jobs.ts'
import { startJobs } from './jobs/jobs.ts'
import { createCompiler } from './mail/compile/compiler.ts'
import { createMailReader } from './mail/inbound/mail-reader.ts'
import type { Services } from './operations/context.ts'
import { startConsumersRole } from './roles/consumers.ts'
import { startHttpRole } from './roles/http.ts'
import { startInboundRole } from './roles/inbound.ts'
import { startSchedulerRole } from './roles/scheduler.ts'
import { startSenderRole } from './roles/sender.ts'
import { createSendingParts } from './roles/sending-parts.ts'
import { createSenderThread } from './roles/start-sender-thread.ts'

export interface Posthaste {
  services: Services
  /** Where the data lives, for people to read. */
  place: string
  /** What the owner gets on the very first start, once: a key, and a link that signs them in. */
  first: FirstStart | null
  http: FastifyInstance | null
  /** Where mail is taken in. */
  smtpPort: number | null
  stop(): Promise<void>
}

interface Parts {
  config: Config
  log: Log
  clock?: Clock
  /** A server that somebody else runs, in place of the one that the configuration names. */
  server?: DatabaseServer
  /** Told at once what the first start made, so that it is not lost when a later step fails. */
  onFirstStart?(first: FirstStart): void
}

/** The only place where the program is put together. What starts last stops first. */
export async function startPosthaste({ config, log, clock = systemClock, server, onFirstStart }: Parts): Promise<Posthaste> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const stopOne of stops.splice(0).reverse()) {
      await stopOne().catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'a part did not stop cleanly'))
    }
  }
  try {
    const blobs = createBlobStore(config.BLOB_URL, dataDirOf(config))
    if (config.ROLES.includes('http')) await refuseTakenPort('PORT', config.HOST, config.PORT)
    if (config.ROLES.includes('http') && config.HTTPS_PORT !== null) await refuseTakenPort('HTTPS_PORT', config.HOST, config.HTTPS_PORT)
    if (config.ROLES.includes('inbound')) await refuseTakenPort('SMTP_PORT', config.SMTP_HOST, config.SMTP_PORT)
    const databaseServer = server ?? (await connectDatabase(config, log))
    stops.push(() => databaseServer.stop())
    await migrate(databaseServer.connection)
    const database = openDatabase({ connection: databaseServer.connection, clock, log })
    stops.push(() => database.close())
    const mayMake = (await findInstance(database)) === null
    const secrets = createSecrets(loadSecretKey(config.SECRET_KEY, dataDirOf(config), { mayMake }))
    const jobs = await startJobs(database, log, allJobs)
    stops.push(() => jobs.stop())
    // After whatever could keep this process from starting: the key that is made here is shown once.
    const first = await bootstrap(database, config, secrets)
    if (first) onFirstStart?.(first)
    const instance = await findInstance(database)
    if (instance) await makeFirstSigningKeys({ config, database, secrets, clock, log }, instance.owner_project_id)
    const { transport, signers } = createSendingParts({ config, database, secrets, clock, log })
    // After the transport is closed: whatever a server has said by then is written down.
    stops.push(() => finishSends(transport))
    stops.push(() => transport.close())
    const compiler = createCompiler()
    stops.push(() => compiler.stop())
    const reader = createMailReader()
    stops.push(() => reader.stop())
    const guardedFetch = createGuardedFetch({
      dnsServers: config.DNS_SERVERS,
      ports: config.WEBHOOK_PORTS,
      isPrivateAllowed: config.ALLOW_PRIVATE_WEBHOOKS,
    })
    stops.push(async () => guardedFetch.close())
    const dns = createDns({ servers: config.DNS_SERVERS, isPrivateAllowed: config.ALLOW_PRIVATE_WEBHOOKS })
    stops.push(async () => dns.close())
    const services: Services = {
      database,
      clock,
      log,
      config,
      secrets,
      jobs,
      transport,
      signers,
      compiler,
      reader,
      blobs,
      guardedFetch,
      dns,
    }

    const has = (role: Config['ROLES'][number]) => config.ROLES.includes(role)
    if (has('consumers')) stops.push(await startConsumersRole(services))
    const thread = isInThread(config, clock) ? createSenderThread({ config, connection: databaseServer.connection }, log) : null
    if (thread) stops.push(() => thread.stop())
    else if (has('sender')) stops.push(await startSenderRole(services))
    if (has('scheduler')) stops.push(await startSchedulerRole(services))
    const inbound = has('inbound') ? await startInboundRole(services) : null
    if (inbound) stops.push(() => inbound.stop())
    const http = has('http')
      ? await startHttpRole(services, {
          isReady: createReadiness(database),
          trouble: () => inOne([thread?.trouble() ?? null, troubleOf(log)]),
        })
      : null
    if (http) stops.push(() => http.close())
    const listening = http ? startListening({ connection: databaseServer.connection, log, channel: mailChannel, hear: tellWaiting }) : null
    if (listening) stops.push(() => listening.stop())
    // The first request need not wait for it.
    await thread?.start()
    return { services, place: databaseServer.place, first, http, smtpPort: inbound?.port ?? null, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Beside requests the sender has a thread of its own, so that neither waits for the other. A clock that tests move is not in it. */
const isInThread = ({ ROLES }: Config, clock: Clock): boolean => ROLES.includes('http') && ROLES.includes('sender') && clock === systemClock

/** Requests of this process that wait for mail hear of what others have filed. */
const tellWaiting = (mailbox_id?: string): void => wake('mailboxes', mailbox_id)

/** Looked at before anything is made: a first start that fails later would have shown its key to nobody. */
async function refuseTakenPort(name: 'PORT' | 'HTTPS_PORT' | 'SMTP_PORT', host: string, port: number): Promise<void> {
  const problem = await portProblem(host, port)
  if (problem === null) return
  const [next, unprivileged] = { PORT: ['8081', '8080'], HTTPS_PORT: ['8444', '8443'], SMTP_PORT: ['2526', '2525'] }[name]
  if (problem === 'EADDRINUSE')
    throw new ConfigError(`Port ${port} is already in use. Stop the program that has it, or choose another: ${name}=${next} npm start`)
  if (problem === 'EACCES')
    throw new ConfigError(
      `Port ${port} may not be opened by this user. Ports below 1024 are the system's; choose another: ${name}=${unprivileged} npm start`,
    )
  throw new ConfigError(`${name === 'SMTP_PORT' ? 'SMTP_HOST' : 'HOST'} ${host}, port ${port} cannot be opened (${problem}).`)
}

/** Ready when the database answers and has the schema that this code needs. Asked at most once a second: anybody may ask. */
function createReadiness(database: Database): () => Promise<string | null> {
  let asked: { answer: Promise<string | null>; at: number } | null = null
  return () => {
    if (!asked || performance.now() - asked.at > 1_000) asked = { answer: readiness(database), at: performance.now() }
    return asked.answer
  }
}

async function readiness(database: Database): Promise<string | null> {
  const slow = sleep(2_000, 'the database does not answer', { ref: false })
  return Promise.race([schemaState(database), slow])
}

async function schemaState(database: Database): Promise<string | null> {
  try {
    const schema = await database.first<{ number: number }>`select max(number) as number from schema_migrations`
    return (schema?.number ?? 0) >= newest ? null : 'migrations are under way'
  } catch {
    return 'the database cannot be reached'
  }
}

const newest = newestMigration()
