/**
 * Reads CSV (RFC 4180) from a stream of any length: separator found from the first line, byte-order mark, CRLF or LF, quoted cells with
 * line breaks. Written here because an import runs it a million times: a line without quotes, as nearly all are, is one `split`, a
 * quarter of what the usual parsers take, and without an object per line for the garbage collector to outlive.
 */
export interface CsvRecord {
  /** Where the record begins, counted as an editor counts. */
  line: number
  cells: string[]
}

export class CsvProblem extends Error {}

const maxRecordLength = 64 * 1024
const separators = [',', ';', '\t']

export async function* readCsv(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvRecord[]> {
  const decoder = new TextDecoder()
  const reader = createReader()
  for await (const chunk of chunks) yield reader.take(decoder.decode(chunk, { stream: true }))
  yield reader.finish(decoder.decode())
}

function createReader() {
  let text = ''
  let line = 1
  let separator: string | null = null

  // A quoted record whose end has not come is scanned again only when twice as much is there: a peer that sends it letter by letter
  // would otherwise have it scanned for every letter.
  let enough = 0

  const take = (more: string, isLast = false): CsvRecord[] => {
    text += more
    if (text.length < enough && !isLast) return []
    enough = 0
    const records: CsvRecord[] = []
    let start = 0
    while (start < text.length) {
      const lineEnd = text.indexOf('\n', start)
      if (lineEnd < 0 && !isLast) break
      separator ??= mostFrequent(text.slice(start, lineEnd < 0 ? undefined : lineEnd))
      const plain = lineEnd < 0 ? text.slice(start) : text.slice(start, lineEnd)
      const record = plain.includes('"')
        ? quotedRecord(text, start, separator, isLast)
        : { cells: withoutCr(plain).split(separator), end: start + plain.length + 1, lines: 1 }
      if (!record) {
        enough = 2 * (text.length - start)
        break
      }
      if (record.cells.length > 1 || record.cells[0] !== '') records.push({ line, cells: record.cells })
      start = record.end
      line += record.lines
    }
    text = text.slice(start)
    if (text.length > maxRecordLength)
      throw new CsvProblem(`the record that begins in line ${line} has no end within ${maxRecordLength} characters`)
    return records
  }
  const finish = (more: string): CsvRecord[] => {
    const records = take(more, true)
    if (text !== '') throw new CsvProblem(`the quote opened in line ${line} is never closed`)
    return records
  }
  return { take, finish }
}

/** A record with quotes in it, which may reach over several lines; null while its end has not arrived. */
function quotedRecord(
  text: string,
  start: number,
  separator: string,
  isLast: boolean,
): { cells: string[]; end: number; lines: number } | null {
  const cells: string[] = []
  let lines = 1
  let at = start
  for (;;) {
    let cell = ''
    if (text[at] === '"') {
      const closed = closingQuote(text, at + 1)
      if (closed < 0) return null
      cell = text.slice(at + 1, closed).replaceAll('""', '"')
      lines += cell.split('\n').length - 1
      at = closed + 1
    }
    // What follows a closing quote up to the separator is kept as it stands: broken quoting loses nothing.
    const end = cellEnd(text, at, separator)
    if (end === text.length && !isLast) return null
    const isRecordEnd = end === text.length || text[end] === '\n'
    cell += isRecordEnd ? withoutCr(text.slice(at, end)) : text.slice(at, end)
    cells.push(cell)
    at = end + 1
    if (isRecordEnd) return { cells, end: at, lines }
  }
}

function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at
  return -1
}

function cellEnd(text: string, from: number, separator: string): number {
  for (let at = from; at < text.length; at++) if (text[at] === separator || text[at] === '\n') return at
  return text.length
}

const withoutCr = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text)

const mostFrequent = (firstLine: string): string => {
  const count = (separator: string) => firstLine.split(separator).length
  return separators.reduce((best, separator) => (count(separator) > count(best) ? separator : best))
}
