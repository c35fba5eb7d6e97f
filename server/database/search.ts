import type { Transaction } from './database.ts'

/** `%` and `_` in what a person types mean themselves. */
export const likePattern = (search: string): string => `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`

/**
 * Plans the statements of this transaction for the word at hand. Whether the trigram index helps depends on it (two letters have no
 * trigram), and the plan that PostgreSQL keeps for a prepared statement is made without knowing it.
 */
export const planForValues = (tx: Transaction) => tx.run`set local plan_cache_mode = force_custom_plan`
