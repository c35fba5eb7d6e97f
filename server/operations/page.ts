import { z } from 'zod'
import { invalid } from '../base/errors.ts'

/** One page of a collection; `next` continues after its last row, and is null on the last page. */
export class Page<Item> {
  readonly items: Item[]
  readonly next: string | null
  constructor(items: Item[], next: string | null) {
    this.items = items
    this.next = next
  }
}

/** A cursor is where the last page ended (sort key, id), opaque to the caller. The version lets the form change. */
const cursorVersion = 1

export const formatCursor = (position: readonly string[]): string =>
  Buffer.from(JSON.stringify([cursorVersion, ...position])).toString('base64url')

/** The position behind a cursor, or 422 for anything we did not hand out. */
export function parseCursor<Position extends z.ZodTuple>(cursor: string | undefined, position: Position): z.output<Position> | null {
  if (cursor === undefined) return null
  try {
    const [version, ...parts] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (version === cursorVersion) return position.parse(parts)
  } catch {
    // Not ours: said below, whatever was wrong with it.
  }
  throw invalid('cursor', 'is not a cursor of this collection; take it from the Link header of the page before, or leave it out')
}

/** Rows were asked for with one more than the page holds: the extra one tells whether there is a next page. */
export function pageOf<Row>(rows: Row[], limit: number, positionOf: (row: Row) => readonly string[]): Page<Row> {
  if (rows.length <= limit) return new Page(rows, null)
  const items = rows.slice(0, limit)
  return new Page(items, formatCursor(positionOf(items.at(-1) as Row)))
}

const uuid = z.uuid()
/** Collections ordered by id alone. */
export const idPosition = z.tuple([uuid])

const limit = z.coerce.number({ error: 'must be a whole number from 1 to 200' }).int('must be a whole number')
const bounded = limit.min(1, 'must be at least 1').max(200, 'must be at most 200')
/** Query parameters of every paged collection. Numbers arrive as text, so a sign, a fraction or a letter is refused here. */
export const limitOf = (fallback: number) =>
  z.preprocess((given) => (given === undefined || /^\d+$/.test(String(given)) ? given : Number.NaN), bounded.default(fallback))

export const pageQuery = { cursor: z.string().max(500).optional(), limit: limitOf(50) }

/** Collections that the contract leaves unpaged still stop here, and go on through `Link: rel="next"`. */
export const unpagedLimit = 1000
