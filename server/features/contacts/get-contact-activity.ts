import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { timestamp } from '../../operations/schemas.ts'
import { ContactParams } from './contact.ts'
import { contactActivity } from './contact-history-queries.ts'
import { findContact } from './contact-queries.ts'

const ContactActivityItem = z
  .object({
    kind: z.string().meta({ description: 'An event name, such as subscriber.confirmed or email.opened' }),
    at: timestamp,
    subject: z.string().meta({ description: 'The name of the list, or the subject of the mail' }),
  })
  .meta({ id: 'ContactActivityItem' })

const shown = 200

export const getContactActivity = defineOperation({
  id: 'contacts.activity',
  method: 'GET',
  path: '/contacts/{id}/activity',
  scope: 'read',
  summary: 'What a contact did and got, newest first',
  description: `The last ${shown} things at most: lists that they joined, confirmed and left; mail that reached them (email.delivered), bounced, was opened or clicked for the first time, or was complained of; mail that they wrote (email.received) or answered with (email.replied).`,
  params: ContactParams,
  result: z.array(ContactActivityItem),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const { project_id } = caller
    const contact = await findContact(database, project_id, params.id)
    if (!contact) throw notFound('contact')
    return contactActivity(database, { project_id, contact_id: contact.id, email_key: contact.email_key }, shown)
  },
})
