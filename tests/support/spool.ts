import { after } from 'node:test'
import { newId } from '../../server/base/ids.ts'
import { createLog } from '../../server/base/log.ts'
import { type Database, openDatabase } from '../../server/database/database.ts'
import type { FiledInput } from '../../server/inbound/inbound-message.ts'
import { createParsePool, type ParsePool } from '../../server/inbound/parse-pool.ts'
import { startSpoolLoop } from '../../server/inbound/process-spool.ts'
import { createSpool, type Taker } from '../../server/inbound/spool.ts'
import { cloneDatabase } from './database.ts'
import { startDnsPeer } from './dns-peer.ts'
import { createTestClock } from './posthaste.ts'

/** Name servers, some of them silent, a pool that asks them, and any number of spools. */
export async function startSpools() {
  // Two of them: who was silent once is not waited for again.
  const silent = ['slow.test', '_dmarc.slow.test', 'held.test', '_dmarc.held.test']
  const dns = await startDnsPeer(Object.fromEntries(silent.map((name) => [name, { fails: 'silence' as const }])))
  const log = createLog('silent')
  const pool = createParsePool({ mailDomain: 'posthaste.test', dnsServers: [dns.address], log, isRelay: () => false, threads: 1 })
  const closing: (() => Promise<unknown>)[] = [() => pool.stop(), () => dns.close()]
  after(async () => {
    for (const close of closing) await close()
  })

  /** A spool of its own, and a filing that notes what it is given and takes it out of the spool. */
  async function startSpool() {
    const cloned = await cloneDatabase()
    const clock = createTestClock()
    const database = openDatabase({ connection: cloned.connection, clock, log })
    const filed: string[][] = []
    closing.unshift(() => database.close().then(() => cloned.drop()))
    const takeOut = (db: Database, batch: FiledInput[]) =>
      db.run`delete from inbound_spool where id = any(${batch.map(({ message }) => message.id)}::uuid[])`
    const subjects = (batch: FiledInput[]) => batch.map(({ parsed }) => parsed.subject as string)
    const file = async (batch: FiledInput[]) => {
      await takeOut(database, batch)
      filed.push(subjects(batch))
    }
    const start = (own: (batch: FiledInput[]) => Promise<void> = file, ownPool: ParsePool = pool) => {
      const loop = startSpoolLoop({ database, clock, log, pool: ownPool, isRelay: () => false, file: own })
      closing.unshift(() => loop.stop())
      return loop
    }
    const spoolFor = (taker?: Taker) => createSpool({ database, log, taker })
    const spool = spoolFor()
    const add = (subject: string, { from = 'ann@example.org', size = 10, peer = '192.0.2.1', into = spool } = {}) =>
      into.add({
        id: newId(),
        received_at: clock.now(),
        peer: { address: peer, name: 'mx.test', is_tls: false },
        envelope_from: from,
        recipients: ['bob@posthaste.test'],
        raw: Buffer.from(`From: ${from}\r\nSubject: ${subject}\r\n\r\n${'x'.repeat(size)}`),
      })
    const rows = () => database.many<{ attempts: number; lease_owner: string | null; next_attempt_at: Date; problem: string | null }>`
      select attempts, lease_owner, next_attempt_at, problem from inbound_spool order by id`
    return { database, clock, filed, start, add, rows, file, subjects, spoolFor }
  }
  return { dns, log, pool, startSpool }
}
