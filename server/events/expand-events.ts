import type { EventId, ProjectId } from '../base/ids.ts'
import type { EventType } from './catalogue.ts'
import type { Bulk, LooseBulk } from './publish.ts'

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
  items: Bulk | LooseBulk | null
}

/** What a row tells, without its place among the others. */
export type StoredEvent = Pick<EventRow, 'id' | 'project_id' | 'type' | 'data' | 'items' | 'created_at'>

/** The events of a row, or only its last `most`: who shows 200 of a million need not make the rest. */
export function eventsOf(row: StoredEvent, most = Number.POSITIVE_INFINITY): PublishedEvent[] {
  const count = row.items?.rows.length ?? 1
  const first = Math.max(0, count - most)
  return Array.from({ length: count - first }, (_, offset) => eventAt(row, first + offset)).filter((event) => event !== null)
}

/** One of them, if it is there. */
export function eventAt({ id, project_id, type, data, items, created_at }: StoredEvent, index: number): PublishedEvent | null {
  if (!items) return data && { id, project_id, type, data, created_at }
  const row = items.rows[index]
  return row ? { id: itemId(id, index), project_id, type, data: fill(items.template, row) as Record<string, unknown>, created_at } : null
}

/** The same id each time the row is read: consumers recognise what they have seen. */
const itemId = (rowId: string, index: number): EventId => `${rowId.slice(0, -8)}${index.toString(16).padStart(8, '0')}` as EventId

function fill(template: unknown, row: unknown[]): unknown {
  if (typeof template === 'string') return fillText(template, row)
  if (Array.isArray(template)) return template.map((item) => fill(item, row))
  if (typeof template !== 'object' || template === null) return template
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value, row)]))
}

function fillText(template: string, row: unknown[]): unknown {
  if (template.startsWith('$$')) return template.slice(1)
  if (template.startsWith('$#')) {
    const number = row[Number(template.slice(2))] ?? null
    return number === null ? null : Number(number)
  }
  return template.startsWith('$') ? (row[Number(template.slice(1))] ?? null) : template
}
