import type { Transaction } from './database.ts'

/** Whoever wants the same name at the same moment waits until this transaction ends. For what has no row of its own to lock. */
export const holdName = (tx: Transaction, name: string): Promise<number> =>
  tx.run`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`
