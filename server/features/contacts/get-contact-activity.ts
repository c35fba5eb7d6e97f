import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { timestamp } from '../../operations/schemas.ts'
import { ContactParams } from './contact.ts'
import { contactActivity } from './contact-history-queries.ts'
import { contactExists } from './contact-queries.ts'

const ContactActivityItem = z
  .object({
    kind: z.string().meta({ description: 'An event name, such as subscriber.confirmed' }),
    at: timestamp,
    subject: z.string().meta({ description: 'The name of the list' }),
  })
  .meta({ id: 'ContactActivityItem' })

const shown = 200

export const getContactActivity = defineOperation({
  id: 'contacts.activity',
  method: 'GET',
  path: '/contacts/{id}/activity',
  scope: 'read',
  summary: 'What a contact did, newest first',
  description: `The last ${shown} things at most.`,
  params: ContactParams,
  result: z.array(ContactActivityItem),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const key = { project_id: caller.project_id, contact_id: params.id }
    if (!(await contactExists(database, key))) throw notFound('contact')
    return contactActivity(database, key, shown)
  },
})
