/**
 * Where each of some pieces begins, as `substring` counts, when they travel to the database as one value and are cut up there: in an array, bytes
 * would be spelled out in hexadecimal, and JSON would be escaped.
 */
export function startsOf(pieces: { length: number }[]): number[] {
  let next = 1
  return pieces.map(({ length }) => {
    const start = next
    next += length
    return start
  })
}
