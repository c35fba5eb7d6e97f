import type { ListId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import type { Services } from '../../operations/context.ts'
import { appendTo } from './line.ts'
import { changeLine, findEntry, lockLine } from './line-queries.ts'
import { moveUp } from './move-up.ts'
import { domainOwnerOf, personOf } from './person.ts'
import type { EntryRow, LineKey } from './waiting-line.ts'

interface Confirmed {
  list: { project_id: ProjectId; id: ListId; type: string; referral_boost: number }
  subscriber: { id: SubscriberId; email_key: string | null }
  /** They were never active on this list before. */
  isNew: boolean
}

/**
 * Somebody on a waitlist has become active. Who had waited too long without confirming, and has no place any more, gets one at the end.
 * Whoever brought them moves up, if that counts.
 */
export async function confirmEntry(
  services: Pick<Services, 'secrets'>,
  tx: Transaction,
  { list, subscriber, isNew }: Confirmed,
): Promise<void> {
  if (list.type !== 'waitlist') return
  const key = { project_id: list.project_id, list_id: list.id }
  const line = await lockLine(tx, key)
  const entry = await findEntry(tx, { ...key, subscriber_id: subscriber.id })
  if (!entry || entry.has_left) return appendTo(tx, line, [{ subscriber_id: subscriber.id, is_confirmed: true }])
  if (entry.is_confirmed) return
  await tx.run`
    update waitlist_entries set is_confirmed = true
    where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = ${subscriber.id}`
  await changeLine(tx, key, { confirmed: 1 })
  if (!isNew || entry.referred_by === null || subscriber.email_key === null) return
  if (await countsForReferrer(services, tx, { entry, email_key: subscriber.email_key })) await thankReferrer(tx, entry, list.referral_boost)
}

/**
 * From one place within a day, and with addresses of one domain. A family or an office is fine; a hundred new mailboxes from one desk, or on
 * a domain that takes mail for every name, are not a hundred people.
 */
const maxAlike = 3
const dayMs = 24 * 3_600_000

/** Once for each person, however often they join or spell their address; not for oneself; not for a crowd from one place or of one domain. */
async function countsForReferrer(
  services: Pick<Services, 'secrets'>,
  tx: Transaction,
  { entry, email_key }: { entry: EntryRow; email_key: string },
): Promise<boolean> {
  const { project_id, list_id, referred_by, joined_from } = entry
  const referrer = await tx.first<{ email_key: string | null }>`
    select email_key from subscribers
    where project_id = ${project_id} and list_id = ${list_id} and id = ${referred_by} and status in ('active', 'pending')`
  const [person, domain] = [personOf(services, email_key), domainOwnerOf(services, email_key)]
  if (!referrer || (referrer.email_key !== null && personOf(services, referrer.email_key).equals(person))) return false
  const since = new Date(tx.now.getTime() - dayMs)
  const inserted = await tx.run`
    insert into waitlist_referrals (project_id, list_id, person, subscriber_id, referrer_id, joined_from, domain, at)
    select ${project_id}, ${list_id}, ${person}, ${entry.subscriber_id}, ${referred_by}, ${joined_from}, ${domain}, ${tx.now}
    from (
      select count(*) filter (where joined_from = ${joined_from}) as from_place, count(*) filter (where domain = ${domain}) as of_domain
      from waitlist_referrals
      where project_id = ${project_id} and list_id = ${list_id} and referrer_id = ${referred_by} and at > ${since}
    ) alike
    where alike.from_place < ${maxAlike} and alike.of_domain < ${maxAlike}
    on conflict do nothing`
  return inserted === 1
}

async function thankReferrer(tx: Transaction, entry: LineKey & Pick<EntryRow, 'referred_by'>, boost: number): Promise<void> {
  const key = { project_id: entry.project_id, list_id: entry.list_id, subscriber_id: entry.referred_by as SubscriberId }
  const thanked = await tx.run`
    update waitlist_entries set referral_count = referral_count + 1
    where project_id = ${key.project_id} and list_id = ${key.list_id} and subscriber_id = ${key.subscriber_id}`
  if (thanked === 1) await moveUp(tx, key, boost)
}
