/**
 * What is still a message and what is a monster: decided on the bytes, before a parser sees them. The scan reads the head and the
 * headers of parts; between them it jumps from line to line that begins with "--", so that 50 MB of base64 cost a few milliseconds. What
 * each such line costs does not grow with the number of parts that are open, and there may only be so many: whoever serves requests
 * waits for this scan.
 */
export const limits = {
  /** The head of the message alone, and of all parts together. */
  head_bytes: 256 * 1024,
  all_heads_bytes: 1024 * 1024,
  head_fields: 1_000,
  /** A field may go on over many; mailauth takes the square of their number to put them together, 19 s for as many as fit into a head. */
  head_lines: 10_000,
  parts: 1_000,
  /** Multiparts in one another. Real mail has four or five. */
  depth: 30,
  /** Lines that begin with "--" and are no delimiter: comments of programs, signatures. A dump of a large database has some thousands. */
  dashed_lines: 200_000,
}

/** Why no parser should be given this, as the end of the sentence "The message …"; null for anything that people send. */
export function findMonster(raw: Buffer): string | null {
  const head = readHead(raw, 0)
  return problemOfHead(head) ?? (head.boundary === null ? null : problemOfParts(raw, head))
}

/** The head, for whoever reads nothing else; null when nobody should. */
export function findHead(raw: Buffer): Buffer | null {
  const head = readHead(raw, 0)
  return problemOfHead(head) ? null : raw.subarray(0, head.end)
}

/** Where the body begins; the length of the message when it is all head. */
export const endOfHead = (raw: Buffer): number => readHead(raw, 0).end

interface Head {
  /** Behind the empty line. */
  end: number
  lines: number
  fields: number
  /** Of a multipart. */
  boundary: string | null
}

function problemOfHead({ end, lines, fields }: Head): string | null {
  if (end > limits.head_bytes) return `has a head of more than ${limits.head_bytes / 1024} kB`
  if (lines > limits.head_lines) return `has a head of more than ${limits.head_lines} lines`
  return fields > limits.head_fields ? `has more than ${limits.head_fields} header fields` : null
}

function problemOfParts(raw: Buffer, { end, boundary }: Head): string | null {
  /** The multiparts that are open, from the outside in. */
  let open = [boundary as string]
  let delimiters = delimitersOf(open)
  let parts = 0
  let dashedLines = 0
  let headBytes = end
  let at = end
  for (;;) {
    const start = nextDashedLine(raw, at)
    if (start < 0) return null
    const { text, next } = dashedLineAt(raw, start, delimiters.longest)
    at = next
    const found = text === null ? undefined : delimiters.byText.get(text)
    if (!found) {
      if (++dashedLines > limits.dashed_lines) return `has more than ${limits.dashed_lines} lines that begin with "--" and part nothing`
      continue
    }
    open = open.slice(0, found.isLast ? found.index : found.index + 1)
    if (!found.isLast) {
      if (++parts > limits.parts) return `has more than ${limits.parts} parts`
      const head = readHead(raw, next)
      headBytes += head.end - next
      if (headBytes > limits.all_heads_bytes) return `has parts with more than ${limits.all_heads_bytes / 1024} kB of headers`
      if (head.boundary !== null) open.push(head.boundary)
      if (open.length > limits.depth) return `has parts nested more than ${limits.depth} deep`
      at = head.end
    }
    delimiters = delimitersOf(open)
  }
}

interface Delimiters {
  byText: Map<string, { index: number; isLast: boolean }>
  longest: number
}

/** RFC 2046 section 5.1.1: "--" and the boundary, perhaps "--" for the last, perhaps blanks. The innermost counts. */
function delimitersOf(open: string[]): Delimiters {
  const byText: Delimiters['byText'] = new Map()
  for (const [index, boundary] of open.entries()) {
    byText.set(`${boundary.trimEnd()}--`, { index, isLast: true })
    byText.set(boundary.trimEnd(), { index, isLast: false })
  }
  return { byText, longest: Math.max(0, ...[...byText.keys()].map(({ length }) => length)) }
}

/** From the beginning of a line, which may be one itself: then nothing is searched for, which would take most of the time. */
function nextDashedLine(raw: Buffer, at: number): number {
  if (raw[at] === dash && raw[at + 1] === dash) return at
  const lineEnd = raw.indexOf('\n--', at)
  return lineEnd < 0 ? -1 : lineEnd + 1
}

const dash = 0x2d

/** What follows the dashes, without blanks at the end; null where that is longer than any delimiter. */
function dashedLineAt(raw: Buffer, start: number, longest: number): { text: string | null; next: number } {
  const lineFeed = raw.indexOf(0x0a, start)
  const next = lineFeed < 0 ? raw.length : lineFeed + 1
  let end = next
  while (end > start + 2 && (raw[end - 1] as number) <= 0x20) end--
  return { text: end - start - 2 > longest ? null : raw.toString('latin1', start + 2, end), next }
}

/** Without its end. A line of blanks is not empty, and ends no head, as little as for the parser. Of a longer one no more is looked at. */
function lineAt(raw: Buffer, start: number, maxBytes: number): { line: string; next: number } {
  const lineFeed = raw.indexOf(0x0a, start)
  const next = lineFeed < 0 ? raw.length : lineFeed + 1
  let end = Math.min(next, start + maxBytes)
  while (end > start && (raw[end - 1] === 0x0a || raw[end - 1] === 0x0d)) end--
  return { line: raw.toString('latin1', start, end), next }
}

/** Reads no further than the largest head may be. */
function readHead(raw: Buffer, start: number): Head {
  const most = Math.min(raw.length, start + limits.head_bytes + 1)
  let lines = 0
  let fields = 0
  let contentType: string | null = null
  let isInContentType = false
  for (let at = start; at < most; ) {
    const { line, next } = lineAt(raw, at, limits.head_bytes)
    at = next
    if (line === '') return { end: at, lines, fields, boundary: boundaryIn(contentType) }
    lines++
    if (line.startsWith(' ') || line.startsWith('\t')) {
      if (isInContentType) contentType += line
      continue
    }
    fields++
    isInContentType = contentType === null && /^content-type[ \t]*:/i.test(line)
    if (isInContentType) contentType = line
  }
  return { end: most, lines, fields, boundary: boundaryIn(contentType) }
}

/** Good enough to find every boundary that the parser finds; one too many does no harm. */
function boundaryIn(contentType: string | null): string | null {
  if (contentType === null || !/multipart\//i.test(contentType)) return null
  const [, quoted, bare] = /boundary\*?0?\*?[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/i.exec(contentType) ?? []
  return quoted?.replace(/\\(.)/g, '$1') ?? bare ?? null
}
