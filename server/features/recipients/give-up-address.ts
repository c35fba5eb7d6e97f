import type { Transaction } from '../../database/database.ts'
import { parseAddress } from '../../mail/address.ts'
import type { BounceClass } from '../../mail/reports/report.ts'
import { markBounced } from '../subscribers/index.ts'
import { addSuppression } from '../suppressions/index.ts'
import type { RecipientRow } from './recipient.ts'

/** Three failures that may pass, on three different days, are one that did not. Older ones are another story. */
const maxSoftDays = 3
const softWindowDays = 90

export interface Failure {
  class: BounceClass
  /** Why, for people to read. */
  reason: string
  at: Date
}

/** What a bounce means for the address: nothing at all when the receiver refused the sender or the message. */
export async function drawConsequences(tx: Transaction, recipient: RecipientRow, failure: Failure): Promise<void> {
  if (failure.class === 'hard') await giveUpAddress(tx, recipient, { reason: 'hard_bounce', detail: failure.reason })
  if (failure.class === 'soft' && (await softDays(tx, recipient, failure.at)) >= maxSoftDays)
    await giveUpAddress(tx, recipient, { reason: 'soft_bounces', detail: failure.reason })
}

/** No more mail from this project to the address, on whichever list. */
async function giveUpAddress(
  tx: Transaction,
  recipient: RecipientRow,
  { reason, detail }: { reason: 'hard_bounce' | 'soft_bounces'; detail: string },
): Promise<void> {
  const { project_id, contact_id } = recipient
  const email = addressOf(recipient)
  await addSuppression(tx, { project_id, email, reason, detail })
  // Whoever lifts the suppression begins anew.
  await tx.run`update contacts set soft_bounced_on = '{}' where project_id = ${project_id} and id = ${contact_id} and soft_bounced_on <> '{}'`
  await markBounced(tx, { project_id, contact_id, email_key: email.key })
}

/** On how many days of late mail to this person failed softly, this one included. */
async function softDays(tx: Transaction, { project_id, contact_id }: RecipientRow, at: Date): Promise<number> {
  const day = at.toISOString().slice(0, 10)
  const noted = await tx.first<{ days: number }>`
    update contacts set soft_bounced_on = array(
      select distinct day from unnest(soft_bounced_on || ${day}::date) as day where day > ${day}::date - ${softWindowDays}::integer order by day)
    where project_id = ${project_id} and id = ${contact_id}
    returning cardinality(soft_bounced_on) as days`
  return noted?.days ?? 0
}

/** It was parsed when it came onto the list. */
export function addressOf({ email }: RecipientRow): { address: string; key: string } {
  const parsed = parseAddress(email)
  return parsed.ok ? parsed.value : { address: email, key: email.toLowerCase() }
}
