import { ApiError } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import type { Caller } from '../../operations/context.ts'

/**
 * Whoever sets mail for many going is still let in when it begins: a request may have come just before its agent was switched off. Who
 * switches it off waits for us, and finds what we began.
 */
export async function holdAsker(tx: Transaction, { user_id }: Pick<Caller, 'user_id'>): Promise<void> {
  if (await tx.first`select 1 from users where id = ${user_id} and disabled_at is null for share`) return
  throw new ApiError('unauthorized', 'Whoever this credential belongs to was switched off while the request was under way.')
}
