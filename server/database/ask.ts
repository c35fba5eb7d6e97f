import { type Connection, type PoolClient, Query, type QueryConfig, type QueryResult } from 'pg'
import { PassingMap } from '../base/passing-map.ts'

export interface Question extends QueryConfig {
  /** Of a COPY: the rows, written down when it is the question's turn. */
  rows?: () => Buffer
}

/** Asks a connection one thing. Rejects when it has not answered in time; the connection is not to be used any more then. */
export type Ask = (client: PoolClient, question: Question) => Promise<QueryResult>

const lookEveryMs = 5_000

/**
 * In place of `client.query(question)`, which writes a function behind `query.callback =`, and with a time limit another one. V8 takes what is written so for a
 * method, and makes it old from the start: every question was kept with its values and rows until the whole heap was marked. Here the function is handed over,
 * and one clock watches over all questions.
 */
export function createAsk(timeoutMs: number): Ask & { stop(): void } {
  const asked = new PassingMap<number, { since: number; giveUp(): void }>()
  let numbers = 0
  const look = () => {
    const before = performance.now() - timeoutMs
    for (const { since, giveUp } of asked.values()) if (since < before) giveUp()
  }
  const clock = setInterval(look, Math.min(lookEveryMs, timeoutMs)).unref()
  const ask: Ask = async (client, question) => {
    const number = numbers++
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>()
    const settle = (error: Error | null | undefined, result: unknown) => {
      asked.delete(number)
      if (error) reject(error)
      else resolve(result as QueryResult)
    }
    asked.set(number, { since: performance.now(), giveUp: () => settle(new Error('Query read timeout'), null) })
    client.query(question.rows ? new CopyQuery(question.text, settle, question.rows) : new Query(question, settle))
    try {
      return await promise
    } catch (error) {
      // The one that it has leads to a socket; this leads to who asked.
      Error.captureStackTrace(error as Error)
      throw error
    }
  }
  return Object.assign(ask, { stop: () => clearInterval(clock) })
}

/** What node-postgres has inside and does not tell; `pg-copy-streams` stands on the same. */
interface Copying extends Connection {
  /** Copies the bytes. */
  sendCopyFromChunk(bytes: Buffer): void
  endCopyFrom(): void
}
type Settle = (error: Error | undefined, result: unknown) => void
const AnyQuery = Query as unknown as new (question: QueryConfig, settle: Settle) => { submit(connection: Connection): Error | null }

/**
 * The rows go along with the question, without waiting for leave: a server that refuses the question passes over them (PostgreSQL's documentation,
 * "COPY Operations" of the protocol), and each wait is a turn of both sides.
 */
class CopyQuery extends AnyQuery {
  readonly #text: string
  readonly #rows: () => Buffer

  constructor(text: string, settle: Settle, rows: () => Buffer) {
    super({ text }, settle)
    this.#text = text
    this.#rows = rows
  }

  override submit(connection: Connection): Error | null {
    const { stream } = connection
    try {
      const bytes = this.#rows()
      stream.cork()
      connection.query(this.#text)
      ;(connection as Copying).sendCopyFromChunk(bytes)
      ;(connection as Copying).endCopyFrom()
      stream.uncork()
      return null
    } catch (error) {
      return error as Error
    }
  }

  /** The leave. */
  handleCopyInResponse(): void {}
}
