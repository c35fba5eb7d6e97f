import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { text } from '../../operations/schemas.ts'
import { renameContact } from '../contacts/index.ts'
import { changeCounts, findList, type ListRow } from '../lists/index.ts'
import { confirmEntry, leaveLine } from '../waiting-lines/index.ts'
import { SubscriberParams, type SubscriberRow, SubscriberSummary, subscriberEventData } from './subscriber.ts'
import { lockSubscriber, saveSubscriber } from './subscriber-queries.ts'
import { withStanding } from './with-standings.ts'

export const updateSubscriber = defineOperation({
  id: 'subscribers.update',
  method: 'PATCH',
  path: '/lists/{listId}/subscribers/{subId}',
  scope: 'write',
  summary: 'Rename a subscriber, or set them active or unsubscribed',
  description:
    'Setting `active` vouches for the consent and fires subscriber.confirmed. A new name is the contact’s too: one person, one name.',
  params: SubscriberParams,
  body: z.object({ name: text(200).optional(), status: z.enum(['active', 'unsubscribed']).optional() }),
  result: SubscriberSummary,
  status: 200,
  errors: ['not_found'],

  async run(context, { params, body }) {
    const { database, caller } = context
    const key = { project_id: caller.project_id, list_id: params.listId, subscriber_id: params.subId }
    return database.transaction(async (tx) => {
      const list = await findList(tx, key)
      const before = list && (await lockSubscriber(tx, key))
      if (!before) throw notFound('subscriber')
      const status = body.status ?? before.status
      const name = body.name === undefined ? before.name : body.name.trim() || null
      if (status === before.status && name === before.name) return withStanding(tx, list, before)
      const subscribed_at = status === 'active' ? (before.subscribed_at ?? tx.now) : before.subscribed_at
      const after = (await saveSubscriber(tx, { ...before, name, status, subscribed_at })) as SubscriberRow
      if (name !== before.name) await renameContact(tx, before.project_id, before.contact_id, name)
      await tellOfStatus(tx, before, after)
      await keepLine(context, tx, { list, before, after })
      return withStanding(tx, list, after)
    })
  },
})

async function tellOfStatus(tx: Transaction, before: SubscriberRow, after: SubscriberRow): Promise<void> {
  if (before.status === after.status) return
  await publish(
    tx,
    after.project_id,
    after.status === 'active' ? 'subscriber.confirmed' : 'subscriber.unsubscribed',
    subscriberEventData(after),
  )
  await changeCounts(tx, after, { [before.status]: -1, [after.status]: 1 })
}

interface Change {
  list: ListRow
  before: SubscriberRow
  after: SubscriberRow
}

async function keepLine(services: Pick<Services, 'secrets'>, tx: Transaction, { list, before, after }: Change): Promise<void> {
  if (before.status === after.status) return
  if (after.status === 'active') await confirmEntry(services, tx, { list, subscriber: after, isNew: before.subscribed_at === null })
  else await leaveLine(tx, after, [after.id])
}
