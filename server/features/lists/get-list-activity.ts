import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { activityFeed, activityWeek, consumeActivity } from '../../events/activity.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { limitOf } from '../../operations/page.ts'
import { timestamp } from '../../operations/schemas.ts'
import { UnderListParams } from './list.ts'
import { listExists } from './list-queries.ts'

const ListActivity = z
  .object({
    week: z
      .object({ subscribed: z.int(), unsubscribed: z.int(), replies: z.int() })
      .meta({ description: 'The last seven days, counted by the hour' }),
    items: z.array(
      z.object({
        id: idOf('evt'),
        type: z.string().meta({ description: 'An event name, such as subscriber.confirmed' }),
        at: timestamp,
        email: z.string().nullable(),
        subject: z.string().nullable(),
        post_id: idOf('post').nullable(),
        subscriber_id: idOf('sub').nullable(),
        email_id: idOf('eml').nullable(),
        message_id: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'ListActivity' })

export const getListActivity = defineOperation({
  id: 'lists.activity',
  method: 'GET',
  path: '/lists/{listId}/activity',
  scope: 'read',
  summary: 'What happened on a list, newest first',
  params: UnderListParams,
  query: z.object({ limit: limitOf(60) }),
  result: ListActivity,
  status: 200,
  errors: ['not_found'],

  async run({ database, clock, caller }, { params, query }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    if (!(await listExists(database, key))) throw notFound('list')
    // The feed is filled in the background. Catching up first lets a caller see what it has just done.
    await consumeActivity(database)
    // One snapshot for both, so that the numbers belong to the items.
    return database.transaction(
      async (tx) => ({ week: await activityWeek(tx, key, clock.now()), items: await activityFeed(tx, key, query.limit) }),
      { snapshot: true },
    )
  },
})
