import type { Transaction } from '../../database/database.ts'
import { changeBuckets, recountBuckets } from './buckets.ts'
import { changeLine, entriesBehind, findEntry, placesAhead, setPlaces } from './line-queries.ts'
import { type EntryKey, gap, type LineKey } from './waiting-line.ts'

/**
 * Lets somebody who waits pass so many who wait before them. Whoever calls holds the line. Writes one row: the place is one between two
 * others, or a gap before the first.
 */
export async function moveUp(tx: Transaction, key: EntryKey, steps: number): Promise<void> {
  const entry = steps > 0 ? await findEntry(tx, key) : null
  if (entry?.status !== 'waiting') return
  const ahead = (await placesAhead(tx, key, { place: entry.place, limit: steps + 1 })).map(({ place }) => place)
  if (ahead.length === 0) return
  const place = placeBefore(ahead, steps)
  if (place === null) {
    // Who moves may be among those who are spread: then they stand elsewhere now, and so do those before them.
    await makeRoomBehind(tx, key, ahead[steps] as number)
    return moveUp(tx, key, steps)
  }
  await setPlaces(tx, key, [{ subscriber_id: key.subscriber_id, place }])
  await changeBuckets(tx, key, [entry.place], -1)
  await changeBuckets(tx, key, [place], 1)
}

/** Null where nobody fits between the two that it would be between. */
function placeBefore(ahead: number[], steps: number): number | null {
  if (ahead.length <= steps) return (ahead.at(-1) as number) - gap
  const [passed, before] = [ahead[steps - 1] as number, ahead[steps] as number]
  return passed - before > 1 ? before + Math.floor((passed - before) / 2) : null
}

/** Between two neighbours: ten more can move in at the same spot. */
const enough = 1_024

/** Where two stand too close, those behind are spread: as few as it takes until each has enough room, or all of them. */
async function makeRoomBehind(tx: Transaction, key: LineKey, place: number): Promise<void> {
  for (let count = 32; ; count *= 2) {
    const behind = await entriesBehind(tx, key, { place, limit: count + 1 })
    const next = behind[count]?.place ?? (await makeLonger(tx, key, behind.length + 1))
    const spread = behind.slice(0, count)
    const room = Math.floor((next - place) / (spread.length + 1))
    if (room < enough) continue
    const moved = spread.map(({ subscriber_id }, index) => ({ subscriber_id, place: place + room * (index + 1) }))
    await setPlaces(tx, key, moved)
    return recountBuckets(tx, key, { from: place, to: next })
  }
}

/** So many gaps, behind the last place that was handed out. Answers where the line ends now. */
async function makeLonger(tx: Transaction, key: LineKey, gaps: number): Promise<number> {
  await changeLine(tx, key, { last_place: gaps * gap })
  const line = await tx.first<{ last_place: number }>`
    select last_place from waitlist_lines where project_id = ${key.project_id} and list_id = ${key.list_id}`
  return (line as { last_place: number }).last_place
}
