import { notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { changeCounts, listExists } from '../lists/index.ts'
import { forgetEntries } from '../waiting-lines/index.ts'
import { SubscriberParams, subscriberEventData } from './subscriber.ts'
import { deleteSubscriberRow, lockSubscriber } from './subscriber-queries.ts'

export const deleteSubscriber = defineOperation({
  id: 'subscribers.delete',
  method: 'DELETE',
  path: '/lists/{listId}/subscribers/{subId}',
  scope: 'write',
  summary: 'Remove somebody from a list',
  description: 'The contact stays. Links in mail already sent stop working.',
  params: SubscriberParams,
  status: 204,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, list_id: params.listId, subscriber_id: params.subId }
    await database.transaction(async (tx) => {
      const subscriber = (await listExists(tx, key)) ? await lockSubscriber(tx, key) : null
      if (!subscriber) throw notFound('subscriber')
      await deleteSubscriberRow(tx, key)
      await publish(tx, key.project_id, 'subscriber.deleted', subscriberEventData(subscriber))
      await changeCounts(tx, key, { [subscriber.status]: -1 })
      await forgetEntries(tx, key, [subscriber.id])
    })
  },
})
