import { invalid } from '../../base/errors.ts'
import { type EventId, parseId } from '../../base/ids.ts'

/** Where a stream stands in the outbox: everything up to and including this has been told. */
export interface Place {
  transaction_id: string
  position: number
  /** Of a row that stands for many events, the one that was told last; null when the row is done. */
  item: number | null
}

interface RowPlace {
  transaction_id: string
  position: number
}

export const isAfter = (row: RowPlace, place: RowPlace): boolean => {
  const [one, other] = [BigInt(row.transaction_id), BigInt(place.transaction_id)]
  return one === other ? row.position > place.position : one > other
}

/** What had been committed at a moment, as `pg_current_snapshot()` tells it: `xmin:xmax:xip,…`. */
export interface Moment {
  /** Before it, no transaction was open. */
  lowest: string
  has(transaction_id: string): boolean
}

export function readMoment(snapshot: string): Moment {
  const [xmin = '', xmax = '', open = ''] = snapshot.split(':')
  const [lowest, highest] = [BigInt(xmin), BigInt(xmax)]
  const stillOpen = new Set(open.split(','))
  return {
    lowest: xmin,
    has: (transaction_id) => {
      const number = BigInt(transaction_id)
      return number < lowest || (number < highest && !stillOpen.has(transaction_id))
    },
  }
}

/** The ids that one row of the outbox may have given out (`itemId` in expand-events.ts), and the number of the item that this one is. */
export function rowIdsOf(id: EventId): { lowest: string; highest: string; item: number } {
  const shared = id.slice(0, -8)
  return { lowest: `${shared}00000000`, highest: `${shared}ffffffff`, item: Number.parseInt(id.slice(-8), 16) }
}

export function parseEventId(field: string, text: string): EventId {
  const id = parseId('evt', text)
  if (id === null) throw invalid(field, 'is not the id of an event, such as evt_01k…; leave it out to begin now')
  return id
}
