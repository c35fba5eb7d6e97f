import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { listExists } from '../lists/index.ts'
import { SubscriberDetail, SubscriberParams } from './subscriber.ts'
import { findSubscriber } from './subscriber-queries.ts'

export const getSubscriber = defineOperation({
  id: 'subscribers.get',
  method: 'GET',
  path: '/lists/{listId}/subscribers/{subId}',
  scope: 'read',
  summary: 'One subscriber',
  params: SubscriberParams,
  result: SubscriberDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, list_id: params.listId, subscriber_id: params.subId }
    const [exists, subscriber] = await Promise.all([listExists(database, key), findSubscriber(database, key)])
    if (!exists || !subscriber) throw notFound('subscriber')
    return subscriber
  },
})
