import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { timestamp } from '../../operations/schemas.ts'
import { ListDetail } from '../lists/index.ts'
// The shape alone: the index of that feature imports this one.
import { SubscriberStatus } from '../subscribers/subscriber.ts'
import { ContactParams } from './contact.ts'
import { pageMemberships } from './contact-history-queries.ts'
import { contactExists } from './contact-queries.ts'

const ContactListMembership = z
  .object({
    list_id: idOf('lst'),
    name: z.string().meta({ description: 'The list’s name' }),
    subdomain: z.string().nullable(),
    type: ListDetail.shape.type,
    status: SubscriberStatus,
    subscribed_at: timestamp.nullable(),
  })
  .meta({ id: 'ContactListMembership' })

export const getContactLists = defineOperation({
  id: 'contacts.lists',
  method: 'GET',
  path: '/contacts/{id}/lists',
  scope: 'read',
  summary: 'The lists a contact is on, the one joined last first',
  params: ContactParams,
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(ContactListMembership),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query }) {
    const key = { project_id: caller.project_id, contact_id: params.id }
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    if (!(await contactExists(database, key))) throw notFound('contact')
    return pageOf(await pageMemberships(database, key, after, unpagedLimit + 1), unpagedLimit, (row) => [row.subscriber_id])
  },
})
