import { Pool, type PoolClient, type PoolConfig, types } from 'pg'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Trouble } from '../base/trouble.ts'
import { createAsk, type Question } from './ask.ts'
import { type CopiedRow, type CopyTarget, writeRows } from './copy-rows.ts'
import { gatherLostConnections } from './lost-connections.ts'
import { toStatement } from './sql.ts'

/** Counts and positions stay far below 2^53. */
types.setTypeParser(types.builtins.INT8, Number)

type Template = [strings: TemplateStringsArray, ...values: unknown[]]

/** Anything that can be asked: the pool or a transaction. Readers take this. */
export interface Queryable {
  many<Row>(...template: Template): Promise<Row[]>
  /** The first row, or null. */
  first<Row>(...template: Template): Promise<Row | null>
  /** The number of rows touched. */
  run(...template: Template): Promise<number>
  /** Inserts all of these, which must be new, or none. The quickest way, for the few tables where that counts. */
  copy<Names extends CopyTarget['columns']>(target: CopyTarget<Names>, rows: readonly CopiedRow<Names>[]): Promise<number>
}

/** Writers take this, so that a change and its events cannot be split. No network I/O happens while one is open. */
export interface Transaction extends Queryable {
  readonly isTransaction: true
  /** The time of the change, one for all that it writes. */
  readonly now: Date
  /** Runs once the commit is durable; not at all after a rollback. For waking others, never for effects that must happen. */
  afterCommit(wake: () => void): void
  /** For a library that asks by itself. */
  readonly client: PoolClient
}

export interface Database extends Queryable {
  /** Commits when `work` resolves. Runs it again after a deadlock, so `work` changes nothing but the database. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, options?: TransactionOptions): Promise<Result>
  /** For libraries that bring their own SQL text; ours is written in templates. */
  execute(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>
  /** Of all processes on this database, one at a time does `work`; the others wait for their turn. `lock` is any constant. */
  oneAtATime<Result>(lock: number, work: () => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

export interface TransactionOptions {
  /** Reads only, and sees everything as it is at its first question. */
  snapshot?: boolean
  /** `work` is one statement, which PostgreSQL commits by itself: two round trips less. A second one is refused. */
  single?: boolean
}

export type ConnectionSettings = Pick<PoolConfig, 'connectionString' | 'host' | 'port' | 'user' | 'database' | 'ssl' | 'application_name'>

/** A plan that a newer release's migration has made stale: the connection is worn out, and another will do. */
const stalePlan = '0A000'
const retried = new Set(['40001', '40P01'])
/** A full disk, an error of the disk, a server that only reads. */
const cannotWrite = new Set(['53100', '58030', '25006'])
const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code

interface DatabaseOptions {
  connection: ConnectionSettings
  clock: Clock
  log: Log
  poolSize?: number
}

/** One whose other end vanished is not waited for. */
const answerWithinMs = 65_000

export function openDatabase({ connection, clock, log, poolSize = 20 }: DatabaseOptions): Database {
  const ask = createAsk(answerWithinMs)
  const pool = new Pool({
    ...connection,
    max: poolSize,
    connectionTimeoutMillis: 5_000,
    // No request is worth a minute of a session.
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
    keepAlive: true,
    idleTimeoutMillis: 30_000,
    application_name: 'posthaste',
  })
  // Without a listener, a server that shuts down takes this whole process with it.
  const lost = gatherLostConnections(log)
  pool.on('error', (error) => lost.add(error.message))
  const writing = new Trouble(log, { words: 'the database cannot be written just now' })

  const withClient = async <Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> => {
    const client = await pool.connect()
    let broken = false
    const onError = () => {
      broken = true
    }
    client.on('error', onError)
    try {
      return await work(client)
    } catch (error) {
      if (codeOf(error) === stalePlan || isConnectionLoss(error)) broken = true
      if (cannotWrite.has(codeOf(error) ?? '')) writing.met(error)
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  const transactSingle = <Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result> =>
    withClient(async (client) => {
      const wakes: (() => void)[] = []
      let asked = 0
      const askOnce: AskFor = async (statement) => {
        if (++asked > 1) throw new Error('a transaction of one statement was given a second one')
        return ask(client, statement)
      }
      const afterCommit = (wake: () => void) => void wakes.push(wake)
      const result = await work({ ...queryableOver(askOnce), isTransaction: true, now: clock.now(), client, afterCommit })
      for (const wake of wakes) wake()
      return result
    })

  const transactOnce = <Result>(work: (tx: Transaction) => Promise<Result>, begin: string): Promise<Result> =>
    withClient(async (client) => {
      const wakes: (() => void)[] = []
      await ask(client, { text: begin })
      try {
        const result = await work({
          ...queryableOver((statement) => ask(client, statement)),
          isTransaction: true,
          now: clock.now(),
          client,
          afterCommit: (wake) => wakes.push(wake),
        })
        await ask(client, { text: 'commit' })
        for (const wake of wakes) wake()
        return result
      } catch (error) {
        // A rollback that fails means the connection is gone, and the server rolls back by itself; the first error tells more.
        await ask(client, { text: 'rollback' }).catch(() => client.emit('error', error as Error))
        throw error
      }
    })

  return {
    ...queryableOver((statement) => withClient((client) => ask(client, statement))),
    async transaction(work, { snapshot = false, single = false } = {}) {
      const begin = snapshot ? 'begin isolation level repeatable read read only' : 'begin'
      for (let attempt = 1; ; attempt++) {
        try {
          return await (single ? transactSingle(work) : transactOnce(work, begin))
        } catch (error) {
          if (attempt === 4 || !retried.has(codeOf(error) ?? '')) throw error
        }
      }
    },
    execute: (text, values) =>
      withClient(async (client) => {
        try {
          return await ask(client, { text, ...(values ? { values } : {}) })
        } catch (error) {
          // Without values the text may be several statements with a begin among them: whoever got this connection next would be inside.
          if (!values?.length) client.emit('error', error as Error)
          throw error
        }
      }),
    oneAtATime: (lock, work) =>
      withClient(async (client) => {
        await ask(client, { text: 'select pg_advisory_lock($1)', values: [lock] })
        try {
          return await work()
        } finally {
          // A connection that cannot be asked any more is closed, and its lock goes with it.
          await ask(client, { text: 'select pg_advisory_unlock($1)', values: [lock] }).catch((error) => client.emit('error', error))
        }
      }),
    async close() {
      lost.stop()
      await pool.end()
      ask.stop()
    },
  }
}

type AskFor = (question: Question) => Promise<{ rows: unknown[]; rowCount: number | null }>

const queryableOver = (ask: AskFor): Queryable => ({
  many: async <Row>(strings: TemplateStringsArray, ...values: unknown[]) => (await ask(toStatement(strings, values))).rows as Row[],
  first: async <Row>(strings: TemplateStringsArray, ...values: unknown[]) =>
    ((await ask(toStatement(strings, values))).rows[0] ?? null) as Row | null,
  run: async (strings, ...values) => (await ask(toStatement(strings, values))).rowCount ?? 0,
  copy: async (target, rows) => (await ask({ text: target.text, writeRows: () => writeRows(target, rows) })).rowCount ?? 0,
})

const lostCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  '57P01',
  '57P02',
  '57P03',
  '53300',
])

/** True when the database could not be reached, as opposed to having answered "no". Worth a retry by the caller. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== undefined) return lostCodes.has(code) || code.startsWith('08')
  // node-postgres gives these without a code.
  return (
    error instanceof Error &&
    /Connection terminated|Query read timeout|timeout exceeded when trying to connect|not queryable|Client has encountered a connection error/.test(
      error.message,
    )
  )
}
