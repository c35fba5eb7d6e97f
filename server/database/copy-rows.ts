/** What a column holds, for a value to be written as PostgreSQL has it in memory. */
interface Values {
  uuid: string
  /** Or its letters in UTF-8. */
  text: string | Uint8Array
  'text[]': readonly string[]
  bytea: Uint8Array
  json: NonNullable<unknown>
  jsonb: NonNullable<unknown>
  smallint: number
  integer: number
  bigint: number
  boolean: boolean
  /** Of a year from 1715 to 2284. */
  timestamptz: Date
}

type Columns = Record<string, keyof Values>

/** Where rows go, many at a time. */
export interface CopyTarget<Names extends Columns = Columns> {
  text: string
  columns: Names
}

export type CopiedRow<Names extends Columns> = { [Name in keyof Names]: Values[Names[Name]] | null }

export const copyTarget = <const Names extends Columns>(table: string, columns: Names): CopyTarget<Names> => ({
  text: `copy ${table} (${Object.keys(columns).join(', ')}) from stdin (format binary)`,
  columns,
})

/**
 * Rows in the binary format of COPY, which the server does not have to parse: as JSON, reading them was a third of what it did to insert the rows of
 * e-mails. The answer is to be sent in the same turn: the next rows go into the same place.
 */
export function writeRows<Names extends Columns>({ columns }: CopyTarget<Names>, rows: readonly CopiedRow<Names>[]): Buffer {
  const names = Object.keys(columns)
  const writer = new Writer()
  writer.bytes(signature)
  for (const row of rows) {
    writer.int16(names.length)
    for (const name of names) writeValue(writer, columns[name] as keyof Values, row[name])
  }
  writer.int16(-1)
  return writer.written()
}

const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')

function writeValue(writer: Writer, type: keyof Values, value: unknown): void {
  if (value === null) {
    writer.int32(-1)
    return
  }
  const start = writer.begin()
  writeAs[type](writer, value as never)
  writer.end(start)
}

const writeAs: { [Type in keyof Values]: (writer: Writer, value: Values[Type]) => void } = {
  uuid: (writer, value) => writer.uuid(value),
  text: (writer, value) => (typeof value === 'string' ? writer.text(value) : writer.bytes(value)),
  'text[]': (writer, values) => writeTexts(writer, values),
  bytea: (writer, value) => writer.bytes(value),
  json: (writer, value) => writer.text(JSON.stringify(value)),
  jsonb: (writer, value) => {
    // The version of its form.
    writer.int8(1)
    writer.text(JSON.stringify(value))
  },
  smallint: (writer, value) => writer.int16(exact(value)),
  integer: (writer, value) => writer.int32(exact(value)),
  bigint: (writer, value) => writer.int64(exact(value)),
  boolean: (writer, value) => writer.int8(value ? 1 : 0),
  // In microseconds.
  timestamptz: (writer, value) => writer.int64(exact((value.getTime() - year2000) * 1000)),
}

function exact(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number, or more than can be told exactly`)
  return value
}

const year2000 = Date.UTC(2000, 0)
const textOid = 25

/** An array has dimensions, whether some are null, what it is of, and its length and first index; an empty one has no dimension. */
function writeTexts(writer: Writer, values: readonly string[]): void {
  const dimensions = values.length > 0 ? [values.length, 1] : []
  for (const number of [dimensions.length / 2, 0, textOid, ...dimensions]) writer.int32(number)
  for (const value of values) writeValue(writer, 'text', value)
}

/**
 * One for all, because rows are written and sent in one turn, in which nobody else writes. Kept, because bytes that are given up make V8 mark its
 * heap, however little is in use.
 */
let place = Buffer.alloc(0)
const mostKept = 10 * 1024 * 1024
/** For what is written behind something large. */
const spareBytes = 64 * 1024

class Writer {
  #place = place
  #at = 0

  written(): Buffer {
    if (this.#place.length <= mostKept) place = this.#place
    return this.#place.subarray(0, this.#at)
  }

  int8(value: number): void {
    this.#makeRoom(1)
    this.#at = this.#place.writeInt8(value, this.#at)
  }

  int16(value: number): void {
    this.#makeRoom(2)
    this.#at = this.#place.writeInt16BE(value, this.#at)
  }

  int32(value: number): void {
    this.#makeRoom(4)
    this.#at = this.#place.writeInt32BE(value, this.#at)
  }

  int64(value: number): void {
    this.#makeRoom(8)
    this.#at = this.#place.writeBigInt64BE(BigInt(value), this.#at)
  }

  bytes(value: Uint8Array): void {
    this.#makeRoom(value.length)
    this.#place.set(value, this.#at)
    this.#at += value.length
  }

  text(value: string): void {
    // No letter has more than three bytes for each of its units.
    this.#makeRoom(3 * value.length)
    this.#at += this.#place.write(value, this.#at)
  }

  /** One that is too short would read to PostgreSQL, and from its answer to us, like a connection that broke off. */
  uuid(value: string): void {
    this.#makeRoom(value.length)
    const written = this.#place.write(value.replaceAll('-', ''), this.#at, 'hex')
    if (written !== 16) throw new RangeError(`"${value}" is no UUID`)
    this.#at += written
  }

  /** Leaves room for how many bytes are written from here up to `end`. */
  begin(): number {
    this.int32(0)
    return this.#at
  }

  end(start: number): void {
    this.#place.writeInt32BE(this.#at - start, start - 4)
  }

  #makeRoom(bytes: number): void {
    if (this.#at + bytes <= this.#place.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(Math.min(2 * this.#place.length, mostKept), this.#at + bytes + spareBytes))
    this.#place.copy(larger, 0, 0, this.#at)
    this.#place = larger
  }
}
