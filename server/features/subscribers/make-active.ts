import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { changeCounts, type ListRow } from '../lists/index.ts'
import { confirmEntry } from '../waiting-lines/index.ts'
import { type SubscriberRow, subscriberEventData } from './subscriber.ts'
import { saveSubscriber } from './subscriber-queries.ts'

/** Somebody who has shown that the address is theirs gets the list from now on. They are locked, and not active yet. */
export async function makeActive(
  services: Pick<Services, 'secrets'>,
  tx: Transaction,
  { list, before }: { list: ListRow; before: SubscriberRow },
): Promise<SubscriberRow> {
  const subscriber = (await saveSubscriber(tx, { ...before, status: 'active', subscribed_at: tx.now })) as SubscriberRow
  await publish(tx, list.project_id, 'subscriber.confirmed', subscriberEventData(subscriber))
  await changeCounts(tx, { project_id: list.project_id, list_id: list.id }, { [before.status]: -1, active: 1 })
  await confirmEntry(services, tx, { list, subscriber, isNew: before.subscribed_at === null })
  return subscriber
}
