import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { timestamp } from '../../operations/schemas.ts'
import { ContactParams } from './contact.ts'
import { pageEmails } from './contact-history-queries.ts'
import { findContact } from './contact-queries.ts'

const ContactEmail = z
  .object({
    id: idOf('msg'),
    post_id: idOf('post').nullable(),
    subject: z.string(),
    list_name: z.string().meta({ description: 'Empty when the mail belongs to no list' }),
    list_id: idOf('lst').nullable(),
    sent_at: timestamp.meta({ description: 'When its status became final; until then, when it was queued' }),
    status: z.enum(['queued', 'sending', 'sent', 'delivered', 'bounced', 'failed', 'complained']),
    open_count: z.int(),
    click_count: z.int(),
  })
  .meta({ id: 'ContactEmail' })

export const getContactEmails = defineOperation({
  id: 'contacts.emails',
  method: 'GET',
  path: '/contacts/{id}/emails',
  scope: 'read',
  summary: 'The mail sent to a contact, newest first',
  params: ContactParams,
  query: z.object({ cursor: pageQuery.cursor }),
  result: z.array(ContactEmail),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, query }) {
    const { project_id } = caller
    const [after] = parseCursor(query.cursor, idPosition) ?? [null]
    const contact = await findContact(database, project_id, params.id)
    if (!contact) throw notFound('contact')
    const { email_key } = contact
    if (email_key === null) return []
    return pageOf(await pageEmails(database, { project_id, email_key }, after, unpagedLimit + 1), unpagedLimit, (row) => [row.id])
  },
})
