import { notFound } from '../../base/errors.ts'
import { formatId } from '../../base/ids.ts'
import { defineOperation, fileOf } from '../../operations/define-operation.ts'
import { ContactParams } from '../contacts/contact.ts'
import { findContact } from '../contacts/index.ts'
import { exportPerson } from './export-person.ts'

export const exportContact = defineOperation({
  id: 'contacts.export',
  method: 'GET',
  path: '/contacts/{id}/export',
  scope: 'read',
  summary: 'Everything that the project has of a person, as JSON',
  description:
    'A file, streamed: `contact`, `former_addresses`, `lists`, `groups`, `posts` (what was sent to them, and what became of it), `emails` (to and from mailboxes, with their text), `messages` (confirmations and notices), `calendar_events`, `suppressions` and `events` (of the last days). Attachments are named; `GET /mailboxes/{id}/emails/{id}/raw` has them.',
  params: ContactParams,
  result: fileOf('application/json'),
  status: 200,
  errors: ['not_found'],

  async run({ database, caller }, { params }) {
    const contact = await findContact(database, caller.project_id, params.id)
    if (!contact) throw notFound('contact')
    return {
      content_type: 'application/json; charset=utf-8',
      headers: { 'content-disposition': `attachment; filename="${formatId('con', contact.id)}.json"`, 'x-content-type-options': 'nosniff' },
      body: exportPerson(database, contact),
    }
  },
})
