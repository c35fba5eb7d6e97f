import type { Transaction } from '../../database/database.ts'
import { dropKeys } from '../../delivery/control.ts'
import { type DomainKeyParts, holdDomain, isUsed, lockDomain, removeDomain } from './sender-queries.ts'

/** A domain goes with the last thing that needs it. True when it is gone. */
export async function giveUpUnused(tx: Transaction, key: DomainKeyParts): Promise<boolean> {
  await holdDomain(tx, key.domain)
  const row = await lockDomain(tx, key)
  if (!row || (await isUsed(tx, key))) return row === null
  await removeDomain(tx, key)
  await dropKeys(tx, key)
  return true
}
