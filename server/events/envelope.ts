import { z } from 'zod'
import { formatId, idOf } from '../base/ids.ts'
import { timestamp } from '../operations/schemas.ts'
import { type EventType, eventTypes } from './catalogue.ts'
import type { PublishedEvent } from './expand-events.ts'

/** What every event is told in, by webhooks and streams alike. */
export const Envelope = z.object({
  id: idOf('evt').meta({ description: 'The same for each attempt and each receiver: tell by it what you have seen' }),
  type: z.enum(eventTypes as [EventType, ...EventType[]]),
  created_at: timestamp.meta({ description: 'When it happened, ISO 8601' }),
  data: z.record(z.string(), z.unknown()).meta({ description: 'What it is about; each type has its own fields' }),
})

/** A webhook's test is told in it as well, and is no event of the catalogue. */
export interface Told extends Pick<PublishedEvent, 'id' | 'created_at' | 'data'> {
  type: string
}

/** An event as it goes on the wire. Its data has that form since it was published. */
export const envelopeOf = ({ id, type, created_at, data }: Told) => ({
  id: formatId('evt', id),
  type,
  created_at: new Date(created_at).toISOString(),
  data,
})
