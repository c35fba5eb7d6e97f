import { Readable } from 'node:stream'
import { notFound } from '../../base/errors.ts'
import { formatId } from '../../base/ids.ts'
import type { Database } from '../../database/database.ts'
import { defineOperation, fileOf } from '../../operations/define-operation.ts'
import { presenterOf } from '../../operations/present.ts'
import { ContactDetail, ContactParams, type ContactRow, toContactDetail } from '../contacts/contact.ts'
import { findContact } from '../contacts/index.ts'
import { sectionsOf } from './export-queries.ts'

export const exportContact = defineOperation({
  id: 'contacts.export',
  method: 'GET',
  path: '/contacts/{id}/export',
  scope: 'read',
  summary: 'Everything that the project has of a person, as JSON',
  description:
    'A file, streamed: `contact`, `lists`, `groups`, `posts` (what was sent to them, and what became of it), `emails` (to and from mailboxes, with their text), `messages` (confirmations and notices), `calendar_events`, `suppressions` and `events` (of the last days). Attachments are named; `GET /mailboxes/{id}/emails/{id}/raw` has them.',
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
      body: Readable.from(exportJson(database, contact)),
    }
  },
})

/** Piece by piece: somebody may have written for years. */
async function* exportJson(database: Database, contact: ContactRow): AsyncGenerator<string> {
  yield `{"contact":${JSON.stringify(presenterOf(ContactDetail)(toContactDetail(contact)))}`
  const person = { project_id: contact.project_id, contact_id: contact.id, email: contact.email, email_key: contact.email_key }
  for (const [name, rows] of Object.entries(sectionsOf(database, person))) {
    yield `,\n"${name}":[`
    let between = ''
    for await (const row of rows) {
      yield between + JSON.stringify(row)
      between = ',\n'
    }
    yield ']'
  }
  yield '}\n'
}
