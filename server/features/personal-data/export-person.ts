import { Readable } from 'node:stream'
import type { Database } from '../../database/database.ts'
import { presenterOf } from '../../operations/present.ts'
import { ContactDetail, type ContactRow, toContactDetail } from '../contacts/contact.ts'
import { formerAddresses } from '../contacts/index.ts'
import { sectionsOf } from './export-queries.ts'

/** Everything that the project has of somebody, as a JSON document. */
export const exportPerson = (database: Database, contact: ContactRow): Readable => Readable.from(exportJson(database, contact))

/** Piece by piece: somebody may have written for years. */
async function* exportJson(database: Database, contact: ContactRow): AsyncGenerator<string> {
  yield `{"contact":${JSON.stringify(presenterOf(ContactDetail)(toContactDetail(contact)))}`
  const key = { project_id: contact.project_id, contact_id: contact.id }
  const person = { ...key, email: contact.email, email_key: contact.email_key, former: await formerAddresses(database, key) }
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
