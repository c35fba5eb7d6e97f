import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { findListType } from '../lists/index.ts'
import { SubscriberDetail, SubscriberParams } from './subscriber.ts'
import { findSubscriber } from './subscriber-queries.ts'
import { withStanding } from './with-standings.ts'

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
    const [type, subscriber] = await Promise.all([findListType(database, key), findSubscriber(database, key)])
    if (!type || !subscriber) throw notFound('subscriber')
    const shown = await withStanding(database, { type }, subscriber)
    return { ...shown, unsubscribe_reason: shown.unsubscribe_reason ?? undefined, paused_until: shown.paused_until ?? undefined }
  },
})
