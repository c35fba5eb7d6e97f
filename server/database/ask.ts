import { type Connection, type PoolClient, Query, type QueryConfig, type QueryResult } from 'pg'
import { PassingMap } from '../base/passing-map.ts'

export interface Question extends QueryConfig {
  /** Of a COPY: writes the rows down, when it is the question's turn. */
  writeRows?: () => Buffer
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
    const settle: Settle = (error, result) => {
      asked.delete(number)
      if (error) reject(error)
      else resolve(result as QueryResult)
    }
    asked.set(number, { since: performance.now(), giveUp: () => settle(new Error('Query read timeout'), null) })
    client.query(question.writeRows ? new CopyQuery(question.text, settle, question.writeRows) : new Query(question, settle))
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

type Settle = (error: Error | null | undefined, result: unknown) => void

/** What node-postgres has inside and does not tell; `pg-copy-streams` stands on the same. */
interface Copying extends Connection {
  /** Copies the bytes. */
  sendCopyFromChunk(bytes: Buffer): void
  endCopyFrom(): void
}
/** As it is, with a method that may answer an error; by its declared types, `submit` is a property that answers nothing. */
const QueryInside = Query as unknown as new (question: QueryConfig, settle: Settle) => { submit(connection: Connection): Error | null }

/**
 * The rows go along with the question, without waiting for leave, since each wait is a turn of both sides. A server that refuses the question, or
 * one of the rows, passes over the rest of them; a test holds it to that.
 */
class CopyQuery extends QueryInside {
  readonly #writeRows: () => Buffer

  constructor(text: string, settle: Settle, writeRows: () => Buffer) {
    super({ text }, settle)
    this.#writeRows = writeRows
  }

  override submit(connection: Connection): Error | null {
    const bytes = this.#written()
    if (bytes instanceof Error) return bytes
    const { stream } = connection
    try {
      stream.cork()
      super.submit(connection)
      ;(connection as Copying).sendCopyFromChunk(bytes)
      ;(connection as Copying).endCopyFrom()
      stream.uncork()
    } catch (error) {
      // Memory ran out: a half of it waits to be sent, and nobody can ask anything behind that.
      stream.destroy(error as Error)
    }
    return null
  }

  #written(): Buffer | Error {
    try {
      return this.#writeRows()
    } catch (error) {
      return error as Error
    }
  }

  /** The leave. A query that does not know this would take the COPY back. */
  handleCopyInResponse(): void {}
}
