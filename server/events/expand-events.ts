import type { EventId, ProjectId } from '../base/ids.ts'
import type { EventType } from './catalogue.ts'
import type { Bulk } from './publish.ts'

/** An event as every consumer sees it: its data has the form that goes on the wire. */
export interface PublishedEvent {
  id: EventId
  project_id: ProjectId
  type: EventType
  data: Record<string, unknown>
  created_at: Date
}

/** A row of the outbox: one event, or many of one kind. */
export interface EventRow extends Omit<PublishedEvent, 'data'> {
  transaction_id: string
  position: number
  item_count: number
  data: Record<string, unknown> | null
  items: Bulk | null
}

/** The events of a row, or only its last `most`: who shows 200 of a million need not make the rest. */
export function eventsOf({ id, project_id, type, data, items, created_at }: EventRow, most = Number.POSITIVE_INFINITY): PublishedEvent[] {
  if (!items) return data ? [{ id, project_id, type, data, created_at }] : []
  const first = Math.max(0, items.rows.length - most)
  return items.rows.slice(first).map((row, offset) => ({
    id: itemId(id, first + offset),
    project_id,
    type,
    data: fill(items.template, row) as Record<string, unknown>,
    created_at,
  }))
}

/** The same id each time the row is read: consumers recognise what they have seen. */
const itemId = (rowId: string, index: number): EventId => `${rowId.slice(0, -8)}${index.toString(16).padStart(8, '0')}` as EventId

function fill(template: unknown, row: (string | null)[]): unknown {
  if (typeof template === 'string') return fillText(template, row)
  if (Array.isArray(template)) return template.map((item) => fill(item, row))
  if (typeof template !== 'object' || template === null) return template
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value, row)]))
}

function fillText(template: string, row: (string | null)[]): string | number | null {
  if (template.startsWith('$$')) return template.slice(1)
  if (template.startsWith('$#')) {
    const number = row[Number(template.slice(2))] ?? null
    return number === null ? null : Number(number)
  }
  return template.startsWith('$') ? (row[Number(template.slice(1))] ?? null) : template
}
