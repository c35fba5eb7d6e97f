import type { ContactId, ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { parseAddress } from '../../mail/address.ts'
import type { FailureClass } from '../../mail/reports/report.ts'
import { type Bounced, countBounced, markBounced, unsubscribe } from '../subscribers/index.ts'
import { addSuppression } from '../suppressions/index.ts'
import {
  type AddresseeKey,
  findContactByAddress,
  findSubscriptions,
  forgetSoftDays,
  noteSoftDay,
  softDaysOfEmails,
} from './addressee-queries.ts'

/** Three failures that may pass, on three different days, are one that did not. Older ones are another story. */
const maxSoftDays = 3
const windowDays = 90

export interface Failure {
  /** Null when it says nothing of the address. */
  bounce_class: FailureClass | null
  /** Why, for people to read. */
  reason: string
  at: Date
}

/** Whom the mail went to. Who is no contact is on no list. */
export interface Addressee {
  project_id: ProjectId
  contact_id: ContactId | null
  email: string
}

/** Of one that the engine has settled. */
export const failureOf = (
  row: { bounce_class: FailureClass | null; reason: string | null; settled_at: Date | null },
  now: Date,
): Failure => ({
  bounce_class: row.bounce_class,
  reason: row.reason ?? 'The receiving server refused the message and did not say why',
  at: row.settled_at ?? now,
})

/** What a bounce means for the address: nothing at all when the receiver refused the sender or the message. True when it is given up. */
export async function drawConsequences(tx: Transaction, to: Addressee, failure: Failure): Promise<boolean> {
  return (await drawAllConsequences(tx, [{ to, failure }])) > 0
}

/** Of several bounces, in this order. Answers how many addresses are given up. */
export async function drawAllConsequences(tx: Transaction, bounces: { to: Addressee; failure: Failure }[]): Promise<number> {
  const bounced: Bounced[] = []
  let givenUp = 0
  for (const { to, failure } of bounces) {
    const { bounce_class, reason: detail, at } = failure
    const isGivenUp = bounce_class === 'hard' || (bounce_class === 'soft' && (await countSoftDays(tx, to, at)) >= maxSoftDays)
    if (!isGivenUp) continue
    givenUp++
    bounced.push(...(await giveUpAddress(tx, to, { reason: bounce_class === 'hard' ? 'hard_bounce' : 'soft_bounces', detail })))
  }
  await countBounced(tx, bounced)
  return givenUp
}

/** No more mail from this project to the address, on whichever list. Answers which those were. */
async function giveUpAddress(
  tx: Transaction,
  to: Addressee,
  { reason, detail }: { reason: 'hard_bounce' | 'soft_bounces'; detail: string },
): Promise<Bounced[]> {
  const { project_id, contact_id } = to
  const email = addressOf(to)
  await addSuppression(tx, { project_id, email, reason, detail })
  // Whoever lifts the suppression begins anew.
  await forgetSoftDays(tx, keyOf(to))
  return contact_id ? markBounced(tx, { project_id, contact_id, email_key: email.key }) : []
}

/** Somebody who reports spam, of whichever mail, wants no more of anything from this project. */
export async function followComplaint(tx: Transaction, to: Addressee, feedback_type: string): Promise<void> {
  const { project_id } = to
  await addSuppression(tx, { project_id, email: addressOf(to), reason: 'complaint', detail: `Reported as ${feedback_type}` })
  for (const subscription of await findSubscriptions(tx, keyOf(to))) await unsubscribe(tx, subscription)
}

/** On how many days of late mail to this person failed softly, this one included. Single mails keep theirs, for who is no contact. */
async function countSoftDays(tx: Transaction, to: Addressee, at: Date): Promise<number> {
  const window = { day: at.toISOString().slice(0, 10), windowDays }
  const noted = await noteSoftDay(tx, keyOf(to), window)
  return new Set([...noted, ...(await softDaysOfEmails(tx, keyOf(to), window))]).size
}

/** The contact who has this address, if anybody has. */
export async function findAddressee(db: Queryable, project_id: ProjectId, email: string): Promise<Addressee> {
  const contact = await findContactByAddress(db, project_id, addressOf({ email }).key)
  return { project_id, contact_id: contact?.id ?? null, email }
}

const keyOf = ({ project_id, contact_id, email }: Addressee): AddresseeKey => ({
  project_id,
  contact_id,
  email_key: addressOf({ email }).key,
})

/** It was parsed before anything was sent to it. */
export function addressOf({ email }: Pick<Addressee, 'email'>): { address: string; key: string } {
  const parsed = parseAddress(email)
  return parsed.ok ? parsed.value : { address: email, key: email.toLowerCase() }
}
