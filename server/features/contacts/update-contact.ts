import { z } from 'zod'
import { notFound } from '../../base/errors.ts'
import { publish } from '../../events/publish.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { text } from '../../operations/schemas.ts'
import { ContactDetail, ContactParams, type ContactRow, contactEventData, toContactDetail } from './contact.ts'
import { lockContact, saveContact } from './contact-queries.ts'

export const updateContact = defineOperation({
  id: 'contacts.update',
  method: 'PATCH',
  path: '/contacts/{id}',
  scope: 'write',
  summary: 'Write notes on a contact',
  params: ContactParams,
  body: z.object({ notes: text(50_000).meta({ description: 'Replaces the notes there are' }) }),
  result: ContactDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params, body }) {
    return database.transaction(async (tx) => {
      const before = await lockContact(tx, caller.project_id, params.id)
      if (!before) throw notFound('contact')
      if (body.notes === before.notes) return toContactDetail(before)
      const contact = (await saveContact(tx, { ...before, notes: body.notes })) as ContactRow // locked above
      await publish(tx, caller.project_id, 'contact.updated', contactEventData(contact))
      return toContactDetail(contact)
    })
  },
})
