import type { ContactId, ListId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { changeCounts, listExists } from '../lists/index.ts'
import { leaveLine } from '../waiting-lines/index.ts'
import { type SubscriberRow, subscriberEventData } from './subscriber.ts'
import { lockSubscriber, type SubscriberKey, saveSubscriber } from './subscriber-queries.ts'

/** Takes somebody off a list at their own wish. Done before, or the list or the subscriber gone: false, and nothing changes. */
export async function unsubscribe(tx: Transaction, key: SubscriberKey): Promise<boolean> {
  const before = (await listExists(tx, key)) ? await lockSubscriber(tx, key) : null
  if (!before || before.status === 'unsubscribed') return false
  const after = (await saveSubscriber(tx, { ...before, status: 'unsubscribed' })) as SubscriberRow
  await publish(tx, key.project_id, 'subscriber.unsubscribed', subscriberEventData(after))
  await changeCounts(tx, key, { [before.status]: -1, unsubscribed: 1 })
  await leaveLine(tx, key, [key.subscriber_id])
  return true
}

interface DeadAddress {
  project_id: ProjectId
  contact_id: ContactId
  email_key: string
}

/** Somebody who was on a list until their address was given up. */
export interface Bounced {
  project_id: ProjectId
  list_id: ListId
  id: SubscriberId
  was: 'active' | 'pending'
}

/**
 * A dead address is dead for every list. Those who left stay as they are. What is answered is for `countBounced`, once for all whom a
 * transaction is about.
 */
export const markBounced = (tx: Transaction, { project_id, contact_id, email_key }: DeadAddress) => tx.many<Bounced>`
    update subscribers s set status = 'bounced'
    from (
      select list_id, id, status from subscribers
      where project_id = ${project_id} and contact_id = ${contact_id} and email_key = ${email_key} and status in ('active', 'pending')
      order by list_id, id for update
    ) before
    where s.project_id = ${project_id} and s.list_id = before.list_id and s.id = before.id
    returning s.project_id, s.list_id, s.id, before.status as was`

/** Counters and waiting lines come last, after the subscribers of everybody: whoever holds the next one may be waiting for these. */
export async function countBounced(tx: Transaction, bounced: Bounced[]): Promise<void> {
  const ofLists = [...Map.groupBy(bounced, ({ project_id, list_id }) => `${project_id} ${list_id}`)].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [, some] of ofLists) {
    const active = some.filter(({ was }) => was === 'active').length
    await changeCounts(tx, some[0] as Bounced, { active: -active, pending: active - some.length, bounced: some.length })
  }
  for (const [, some] of ofLists) {
    await leaveLine(
      tx,
      some[0] as Bounced, // no group is empty
      some.map(({ id }) => id),
    )
  }
}
