import type { Readable } from 'node:stream'
import { invalid } from '../../base/errors.ts'
import { CsvProblem, readCsv } from '../../base/read-csv.ts'
import type { RawRow } from './import-rows.ts'

/**
 * The people in a CSV file as people have it: with or without a header line, from whichever program (Mailchimp's "Email Address",
 * listmonk's "email", first and last name apart).
 */
export async function* csvRows(stream: Readable): AsyncGenerator<RawRow[]> {
  let columns: Columns | null = null
  try {
    // The stream outlives an error of ours: whoever answers the request says so first.
    for await (const records of readCsv(stream.iterator({ destroyOnReturn: false }))) {
      const [first] = records
      if (columns === null && first) {
        const named = columnsOf(first.cells)
        if (named) records.shift()
        columns = named ?? positional
      }
      if (columns) yield records.map(({ line, cells }) => ({ line, ...(columns as Columns)(cells) }))
    }
  } catch (error) {
    if (!(error instanceof CsvProblem)) throw error
    throw invalid(
      'body',
      `is not well-formed CSV: ${error.message}. Lines before it may have been imported; sending the file again skips them`,
    )
  }
}

type Columns = (cells: string[]) => Omit<RawRow, 'line'>

const positional: Columns = ([email = '', name = '']) => ({ email: plain(email), name: plain(name), status: '' })

const emailNames = ['email', 'emailaddress', 'mail', 'subscriberemail']
const nameNames = ['name', 'fullname', 'subscribername', 'displayname']
/** Ours, listmonk's and others'; Ghost's. */
const statusNames = ['status', 'subscriberstatus', 'subscriptionstatus', 'emailstatus', 'subscribed', 'subscribedtoemails']

/** The columns that a header line names, or null when the first line is already a person. */
function columnsOf(cells: string[]): Columns | null {
  const names = cells.map((cell) => cell.toLowerCase().replace(/[^a-z]/g, ''))
  const at = (wanted: string[]) => names.findIndex((name) => wanted.includes(name))
  const email = at(emailNames)
  if (email < 0) {
    if (cells.some((cell) => cell.includes('@'))) return null
    throw invalid('body', 'has no column named "email" in its first line')
  }
  const status = at(statusNames)
  const [name, first, last] = [at(nameNames), at(['firstname', 'givenname']), at(['lastname', 'surname', 'familyname'])]
  return (row) => ({
    email: plain(row[email] ?? ''),
    name: plain(name >= 0 ? (row[name] ?? '') : [row[first], row[last]].filter(Boolean).join(' ')),
    status: plain(row[status] ?? ''),
  })
}

/** Our exports put a ' before what a spreadsheet would take for a formula. */
const plain = (cell: string): string => (/^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell).trim()
