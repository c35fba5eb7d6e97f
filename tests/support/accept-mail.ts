import { Resolver } from 'node:dns/promises'
import { systemClock } from '../../server/base/clock.ts'
import { createLog } from '../../server/base/log.ts'
import { createSecrets } from '../../server/base/secrets.ts'
import { type ConnectionSettings, openDatabase } from '../../server/database/database.ts'
import { makeSelfSigned } from '../../server/inbound/self-signed.ts'
import { startSmtpServer } from '../../server/inbound/smtp-server.ts'

/** A process that takes in mail and does nothing else with it, until somebody kills it. Tells its port. */
const connection = JSON.parse(process.argv[2] as string) as ConnectionSettings
const log = createLog('silent')
const { port } = await startSmtpServer({
  database: openDatabase({ connection, clock: systemClock, log }),
  secrets: createSecrets('a key for tests, long enough to be taken'),
  clock: systemClock,
  log,
  resolver: new Resolver(),
  host: '127.0.0.1',
  port: 0,
  mailDomain: 'posthaste.test',
  certificate: makeSelfSigned({ host: 'posthaste.test', from: new Date('2026-01-01'), until: new Date('2126-01-01') }),
  maxSize: 1024 * 1024,
  maxConnections: 200,
  proxies: [],
  relays: ['127.0.0.1'],
  dnsbl: [],
  isGreylisting: false,
})
process.send?.({ port })
