import { Readable } from 'node:stream'

/** A spreadsheet runs a cell that begins like this as a formula; with a ' before it, it is text (and imports take the ' off again). */
const formula = /^[=+\-@\t\r]/
const needsQuotes = /[",\r\n]|^\s|\s$/

/** One line of RFC 4180. Null is an empty cell. */
export const csvLine = (cells: (string | null)[]): string => `${cells.map(csvCell).join(',')}\r\n`

function csvCell(cell: string | null): string {
  if (cell === null) return ''
  const guarded = formula.test(cell) ? `'${cell}` : cell
  return needsQuotes.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

/**
 * A file of any length, made page by page as fast as it is taken. The header goes out with the first page: a failure until then can
 * still be answered as one.
 */
export const csvStream = (header: string[], pages: AsyncIterable<(string | null)[][]>): Readable =>
  Readable.from(
    (async function* () {
      let text = csvLine(header)
      for await (const page of pages) {
        yield text + page.map(csvLine).join('')
        text = ''
      }
      if (text !== '') yield text
    })(),
    { objectMode: false },
  )
