import type { Readable } from 'node:stream'
import { z } from 'zod'
import { invalid, notFound } from '../../base/errors.ts'
import type { Database } from '../../database/database.ts'
import { defineOperation } from '../../operations/define-operation.ts'
import { type ListKey, listExists, UnderListParams } from '../lists/index.ts'
import { csvRows } from './csv-rows.ts'
import { chunkSize, type ImportResult as Imported, importRows, type RawRow } from './import-rows.ts'

const ImportResult = z
  .object({
    imported: z.int(),
    skipped: z.int().meta({ description: 'Lines that were not imported, whatever the reason' }),
    errors: z.array(z.object({ email: z.string(), reason: z.string() })).meta({ description: 'Why, line by line; the first 10,000' }),
    errors_omitted: z.int().meta({ description: 'Reasons beyond those' }),
  })
  .meta({ id: 'ImportResult' })

interface Person {
  email: string
  name: string | null
  status: string
}
const personSchema = {
  type: 'object',
  required: ['email'],
  properties: {
    email: { type: 'string', format: 'email' },
    name: { type: ['string', 'null'] },
    status: { type: 'string', default: 'active' },
  },
}

export const importSubscribers = defineOperation({
  id: 'subscribers.import',
  method: 'POST',
  path: '/lists/{listId}/subscribers/import',
  scope: 'write',
  summary: 'Import people who have agreed to be on the list',
  description:
    'They become active at once and get no mail. Addresses that are on the list already, have unsubscribed, bounced or are suppressed are skipped, and the answer says why. So are those whose `status` in the import is another than active (subscribed, confirmed, enabled, true): whoever left elsewhere is not mailed from here.',
  params: UnderListParams,
  // The people are looked at one by one below: a schema would collect what is wrong with each of a million before it says a word.
  body: z.object({ subscribers: z.array(z.unknown().meta(personSchema)) }),
  bodyLimit: 10 * 1024 * 1024,
  result: ImportResult,
  status: 201,
  errors: ['not_found'],

  async run({ database, caller }, { params, body }) {
    const key = { project_id: caller.project_id, list_id: params.listId }
    if (!(await listExists(database, key))) throw notFound('list')
    return importRows({ database, key, rows: inBatches(body.subscribers.map(checkPerson)) })
  },

  csv: {
    about:
      'As `text/csv` the body is streamed and may have any size: a header line names the columns (`email`, `name`, `status`; others are not read); without one, the first column is the address. Each thousand lines are saved together; an upload that was cut off can be sent again whole.',
    async run({ database, caller }, { params, body }) {
      return importCsv(database, { project_id: caller.project_id, list_id: params.listId }, { stream: body })
    },
  },
})

/** The streamed form, for HTTP and for the command line. */
export async function importCsv(
  database: Database,
  key: ListKey,
  source: { stream: Readable; onProgress?: (result: Imported) => void },
): Promise<Imported> {
  if (!(await listExists(database, key))) throw notFound('list')
  return importRows({ database, key, rows: csvRows(source.stream), onProgress: source.onProgress })
}

/** The first that has the wrong shape refuses the whole, before anything is written. */
function checkPerson(person: unknown, index: number): Person {
  const { email, name = null, status } = (person ?? {}) as Record<string, unknown>
  if (email === undefined) throw invalid(`subscribers[${index}].email`, 'is required')
  if (typeof email !== 'string') throw invalid(`subscribers[${index}].email`, 'must be a string')
  if (name !== null && typeof name !== 'string') throw invalid(`subscribers[${index}].name`, 'must be a string')
  return { email, name, status: typeof status === 'string' || typeof status === 'boolean' ? String(status) : '' }
}

function* inBatches(people: Person[]): Generator<RawRow[]> {
  for (let start = 0; start < people.length; start += chunkSize) {
    yield people
      .slice(start, start + chunkSize)
      .map(({ email, name, status }, index) => ({ line: start + index + 1, email, name: name ?? '', status }))
  }
}
