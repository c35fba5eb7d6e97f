import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { email, jsonObject, lines, text } from '../../operations/schemas.ts'
import { findList, UnderListParams } from '../lists/index.ts'
import { addSubscriber } from './add-subscriber.ts'
import { SubscriberSummary } from './subscriber.ts'
import { withStanding } from './with-standings.ts'

export const createSubscriber = defineOperation({
  id: 'subscribers.create',
  method: 'POST',
  path: '/lists/{listId}/subscribers',
  scope: 'write',
  summary: 'Add somebody to a list',
  description:
    'Without `verified` the person gets a confirmation mail and is pending until they confirm. An address that is active or pending already is answered as it is, and nothing is sent twice. One address gets at most five confirmation mails a day from a project. One that has unsubscribed must confirm again, even with `verified`.',
  params: UnderListParams,
  body: z.object({
    email,
    name: text(200).optional(),
    verified: z.boolean().default(false).meta({ description: 'You vouch for the consent: active at once, no confirmation mail' }),
    tags: lines(100, 100).optional().meta({ description: 'Added to the contact’s labels' }),
    metadata: jsonObject(16_384).optional().meta({ description: 'Merged onto the contact, one level deep' }),
    org: text(200).optional(),
    job_title: text(200).optional(),
  }),
  result: SubscriberSummary,
  status: 201,
  errors: ['not_found'],

  async run(context, { params, body }) {
    const { database, caller } = context
    const { verified, name, ...rest } = body
    const known = { ...rest, name: name?.trim() || undefined }
    return database.transaction(async (tx) => {
      const list = await findList(tx, { project_id: caller.project_id, list_id: params.listId })
      if (!list) throw notFound('list')
      const { subscriber } = await addSubscriber(context, tx, { list, known, verified, source: 'api' })
      return withStanding(tx, list, subscriber)
    })
  },
})
