import { createHash } from 'node:crypto'

const [tab, lf, cr, space] = [0x09, 0x0a, 0x0d, 0x20]

/**
 * SHA-256 of the body in its relaxed form (RFC 6376 section 3.4.4): no white space at the end of a line, one space for each run of it
 * inside, no empty lines at the end. Of a body whose lines have that form already only the end is looked at.
 */
export const bodyHash = (body: Buffer, { isRelaxed }: { isRelaxed: boolean }): string => {
  const hash = createHash('sha256')
  if (!isRelaxed) return hash.update(relaxedBody(body)).digest('base64')
  const end = endOfText(body)
  if (end > 0) hash.update(body.subarray(0, end)).update('\r\n')
  return hash.digest('base64')
}

function endOfText(body: Buffer): number {
  let end = body.length
  while (end >= 2 && body[end - 1] === lf && body[end - 2] === cr) end -= 2
  return end
}

export function relaxedBody(body: Buffer): Buffer {
  const out = Buffer.allocUnsafe(body.length + 2)
  let length = 0
  /** White space not written yet: it may turn out to end its line. */
  let isPending = false
  /** Behind the last line that is not empty. */
  let end = 0
  for (let at = 0; at < body.length; at++) {
    const byte = body[at] as number
    if (byte === space || byte === tab) {
      isPending = true
    } else if (byte === cr && body[at + 1] === lf) {
      isPending = false
      out[length++] = cr
      out[length++] = lf
      at++
    } else {
      if (isPending) out[length++] = space
      isPending = false
      out[length++] = byte
      end = length
    }
  }
  if (end === 0) return out.subarray(0, 0)
  out[end] = cr
  out[end + 1] = lf
  return out.subarray(0, end + 2)
}

export interface Field {
  /** In lower case. */
  name: string
  /** `name:value`, relaxed (RFC 6376 section 3.4.2), without a line end. */
  relaxed: string
}

/** The fields of a header block, from top to bottom. Bytes are kept as they are, one letter each. */
export function readFields(headers: Buffer): Field[] {
  const text = headers.toString('latin1')
  const fields: Field[] = []
  for (let start = 0; start < text.length; ) {
    const end = endOfField(text, start)
    const colon = text.indexOf(':', start)
    if (colon > start && colon < end) fields.push(relaxedField(text.slice(start, colon), text.slice(colon + 1, end)))
    start = end + 2
  }
  return fields
}

/** A line that begins with white space goes on with the one before. */
function endOfField(text: string, start: number): number {
  let end = text.indexOf('\r\n', start)
  while (end >= 0 && (text[end + 2] === ' ' || text[end + 2] === '\t')) end = text.indexOf('\r\n', end + 2)
  return end < 0 ? text.length : end
}

/** Words with one space before each: nothing to fold or to trim. So are most fields, and this is the cheapest way to see it. */
const isOfWords = /^(?: [^ \t\r\n]+)+$/

function relaxedField(name: string, value: string): Field {
  const key = name.trimEnd().toLowerCase()
  if (isOfWords.test(value)) return { name: key, relaxed: `${key}:${value.slice(1)}` }
  const line = value.replace(/\r\n(?=[ \t])/g, '').replace(/[ \t]+/g, ' ')
  return { name: key, relaxed: `${key}:${line.replace(/^ | (?:\r\n)?$|\r\n$/g, '')}` }
}
