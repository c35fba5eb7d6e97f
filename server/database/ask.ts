import { type PoolClient, Query, type QueryConfig, type QueryResult } from 'pg'
import { PassingMap } from '../base/passing-map.ts'

/** Asks a connection one thing. Rejects when it has not answered in time; the connection is not to be used any more then. */
export type Ask = (client: PoolClient, question: QueryConfig) => Promise<QueryResult>

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
    client.query(new Query(question, settle))
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
