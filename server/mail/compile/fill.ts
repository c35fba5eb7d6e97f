import { type Fixed, type OpenPart, type Recipient, type Slot, slotText, textOf } from './part.ts'
import { encodeQuotedPrintable, encodeValue, softBreak } from './quoted-printable.ts'

/**
 * The body of a post, cut once into what is the same for all (encoded, as bytes) and what is not. Filling it for a recipient is then
 * a handful of short texts and one copy.
 */
export interface Body {
  /** `fixed[0] values[order[0]] fixed[1] values[order[1]] … fixed[n]`. */
  fixed: Buffer[]
  order: number[]
  /** Each distinct value once: a token that stands in twenty links is made and checked once. */
  values: ((recipient: Recipient) => string)[]
  fixedOctets: number
}

export type BodyPiece = string | { part: OpenPart; fixed: Fixed }

/** Strings stand as they are (boundaries, fields of the parts); a part is encoded. */
export function layOutBody(pieces: BodyPiece[]): Body {
  const builder = new BodyBuilder()
  for (const piece of pieces) {
    if (typeof piece === 'string') builder.addBytes(Buffer.from(piece))
    else if (piece.part.kind === 'slots') builder.addSlots(piece.part.pieces)
    else {
      const { part, fixed } = piece
      builder.addValue(`logic ${builder.values.length}`, (recipient) =>
        encodeQuotedPrintable(textOf(part, recipient, fixed)).toString('latin1'),
      )
    }
  }
  return builder.finish()
}

class BodyBuilder {
  readonly values: ((recipient: Recipient) => string)[] = []
  private readonly fixed: Buffer[] = []
  private readonly order: number[] = []
  private readonly indexes = new Map<string, number>()
  private run: Buffer[] = []

  addBytes(bytes: Buffer): void {
    this.run.push(bytes)
  }

  /** A slot's value has lines of its own: a soft break before it unless a line begins there anyway, and one behind it. */
  addSlots(pieces: (string | Slot)[]): void {
    let isLineStart = true
    for (const piece of pieces) {
      if (typeof piece === 'string') {
        const bytes = encodeQuotedPrintable(piece)
        this.addBytes(bytes)
        isLineStart = bytes.at(-1) === 0x0a
      } else {
        if (!isLineStart) this.addBytes(Buffer.from(softBreak))
        this.addValue(JSON.stringify(piece), (recipient) => encodeValue(slotText(piece, recipient)))
        this.addBytes(Buffer.from(softBreak))
        isLineStart = true
      }
    }
  }

  addValue(key: string, value: (recipient: Recipient) => string): void {
    const index = this.indexes.get(key) ?? this.values.push(value) - 1
    this.indexes.set(key, index)
    this.fixed.push(Buffer.concat(this.run))
    this.run = []
    this.order.push(index)
  }

  finish(): Body {
    const fixed = [...this.fixed, Buffer.concat(this.run)]
    return { fixed, order: this.order, values: this.values, fixedOctets: fixed.reduce((sum, bytes) => sum + bytes.length, 0) }
  }
}

export interface FilledPost {
  /** Fields with their CRLF each, without the empty line. */
  headers: Buffer
  body: Buffer
  /** Both with the empty line between: what a transport sends after the signatures. The two above are views of it. */
  message: Buffer
}

/** Where a message is put: exactly so many octets, with anything in them. */
export type Allocate = (octets: number) => Buffer

/** One allocation: the message itself. */
export function fillBody(body: Body, headers: string, recipient: Recipient, allocate: Allocate = Buffer.allocUnsafe): FilledPost {
  const { fixed, order, values } = body
  const texts: string[] = new Array(values.length)
  for (let index = 0; index < values.length; index++) texts[index] = (values[index] as (recipient: Recipient) => string)(recipient)
  const headerOctets = Buffer.byteLength(headers)
  let octets = headerOctets + 2 + body.fixedOctets
  for (let at = 0; at < order.length; at++) octets += (texts[order[at] as number] as string).length

  const message = allocate(octets)
  let length = message.write(headers, 0, 'utf8')
  message[length++] = 0x0d
  message[length++] = 0x0a
  for (let at = 0; at < order.length; at++) {
    message.set(fixed[at] as Buffer, length)
    length += (fixed[at] as Buffer).length
    length += message.write(texts[order[at] as number] as string, length, 'latin1')
  }
  message.set(fixed[order.length] as Buffer, length)
  return { headers: message.subarray(0, headerOctets), body: message.subarray(headerOctets + 2), message }
}
