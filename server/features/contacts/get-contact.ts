import { notFound } from '../../base/errors.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { ContactDetail, ContactParams, toContactDetail } from './contact.ts'
import { findContact } from './contact-queries.ts'

export const getContact = defineOperation({
  id: 'contacts.get',
  method: 'GET',
  path: '/contacts/{id}',
  scope: 'read',
  summary: 'One contact',
  params: ContactParams,
  result: ContactDetail,
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const contact = await findContact(database, caller.project_id, params.id)
    if (!contact) throw notFound('contact')
    return toContactDetail(contact)
  },
})
