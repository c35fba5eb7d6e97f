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

/** A dead address is dead for every list. Those who left stay as they are. */
export async function markBounced(tx: Transaction, { project_id, contact_id, email_key }: DeadAddress): Promise<void> {
  const bounced = await tx.many<{ list_id: ListId; id: SubscriberId; was: 'active' | 'pending' }>`
    update subscribers s set status = 'bounced'
    from (
      select list_id, id, status from subscribers
      where project_id = ${project_id} and contact_id = ${contact_id} and email_key = ${email_key} and status in ('active', 'pending')
      order by list_id, id for update
    ) before
    where s.project_id = ${project_id} and s.list_id = before.list_id and s.id = before.id
    returning s.list_id, s.id, before.status as was`
  for (const { list_id, was } of bounced) await changeCounts(tx, { project_id, list_id }, { [was]: -1, bounced: 1 })
  for (const { list_id, id } of bounced) await leaveLine(tx, { project_id, list_id }, [id])
}
