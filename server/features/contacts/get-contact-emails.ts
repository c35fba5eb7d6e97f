import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { formatId, idOf } from '../../base/ids.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { idPosition, Page, pageOf, pageQuery, parseCursor, unpagedLimit } from '../../operations/page.ts'
import { timestamp } from '../../operations/schemas.ts'
import { ContactParams } from './contact.ts'
import { pageEmails } from './contact-history-queries.ts'
import { findContact } from './contact-queries.ts'

const ContactEmail = z
  .object({
    id: z
      .string()
      .regex(/^(msg|dlv|eml)_[0-9a-z]{26}$/)
      .meta({
        description:
          '`dlv_…` for the delivery of a post, `eml_…` for a mail from a mailbox, `msg_…` for one that the program wrote, such as a confirmation',
      }),
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
    const rows = await pageEmails(database, { project_id, contact_id: contact.id, email_key }, after, unpagedLimit + 1)
    const page = pageOf(rows, unpagedLimit, (row) => [row.id])
    return new Page(
      page.items.map((row) => ({ ...row, id: formatId(row.kind, row.id) })),
      page.next,
    )
  },
})
