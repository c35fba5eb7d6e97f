import type { Transaction } from './database.ts'
import { type Fragment, sql } from './sql.ts'

/** `%` and `_` in what a person types mean themselves. */
const literally = (search: string): string => search.toLowerCase().replace(/[\\%_]/g, '\\$&')

export const likePattern = (search: string): string => `%${literally(search)}%`

const isWordStart = (search: string): boolean => /^[\p{L}\p{N}].?$/su.test(search)

/**
 * Where a text with a trigram index has what a person looks for. One or two letters stand in too many words, and have no trigram of
 * their own: they are looked for where a word begins, which has one.
 */
export const matches = (text: Fragment, search: string): Fragment =>
  isWordStart(search)
    ? sql`(${text} like ${`${literally(search)}%`} or ${text} like ${`% ${literally(search)}%`})`
    : sql`${text} like ${likePattern(search)}`

/** Whether the index can help at all: it knows letters and digits, by threes, and where a word begins or ends. */
export const hasTrigram = (search: string): boolean =>
  isWordStart(search) || /[\p{L}\p{N}]{3}|[^\p{L}\p{N}][\p{L}\p{N}]|[\p{L}\p{N}]{2}[^\p{L}\p{N}]/u.test(search)

/**
 * Plans the statements of this transaction for the word at hand. Whether the trigram index helps depends on it, and the plan that
 * PostgreSQL keeps for a prepared statement is made without knowing it.
 */
export const planForValues = (tx: Transaction) => tx.run`set local plan_cache_mode = force_custom_plan`
