import { formatId, type ProjectId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { likePattern } from '../../database/search.ts'
import type { EventRow } from '../../events/expand-events.ts'
import { findMerged } from '../../events/homes.ts'
import { type Person, spellingsOf } from './person.ts'

/** One row may tell of thousands. */
const pageSize = 20

/** What the outbox still has of them, a page at a time. It forgets by itself, but not at once. */
export async function* eventsAbout(db: Queryable, person: Person): AsyncGenerator<EventRow> {
  // What was merged into their project has left its events where they happened; webhooks that came along still tell of them.
  for (const project_id of [person.project_id, ...(await findMerged(db, person.project_id))])
    yield* eventsIn(db, project_id, patternsOf(person))
}

async function* eventsIn(db: Queryable, project_id: ProjectId, patterns: string[]): AsyncGenerator<EventRow> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const rows = await db.many<EventRow>`
      select * from events where project_id = ${project_id} and id > ${after} and lower(coalesce(data::text, items::text)) like any(${patterns}::text[])
      order by id limit ${pageSize}`
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return
    after = last.id
  }
}

/** What a text that tells of them holds, in small letters. */
export const patternsOf = (person: Person): string[] => [formatId('con', person.contact_id), ...spellingsOf(person)].map(likePattern)

/** Whether a value of an event is their id, or their address however it is written. */
export function namesOf(person: Person): (value: unknown) => boolean {
  const names = new Set<unknown>([formatId('con', person.contact_id), ...spellingsOf(person)])
  return (value) => typeof value === 'string' && names.has(value.toLowerCase())
}
