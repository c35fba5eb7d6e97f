import { formatId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import { likePattern } from '../../database/search.ts'
import { type Fragment, sql } from '../../database/sql.ts'
import type { EventRow } from '../../events/expand-events.ts'
import { findMerged } from '../../events/homes.ts'
import { type Person, spellingsOf } from './person.ts'

/** One row may tell of thousands. */
const pageSize = 20

/** What the outbox still has of them, a page at a time. It forgets by itself, but not at once. */
export const eventsAbout = (db: Queryable, person: Person) => rowsAbout<EventRow>(db, person, sql`*`)

/** Which rows those are, for whoever reads them again under a lock. */
export const eventKeysAbout = (db: Queryable, person: Person) =>
  rowsAbout<Pick<EventRow, 'project_id' | 'id'>>(db, person, sql`project_id, id`)

async function* rowsAbout<Row extends { id: string }>(db: Queryable, person: Person, columns: Fragment): AsyncGenerator<Row> {
  // What was merged into their project has left its events where they happened; webhooks that came along still tell of them.
  for (const project_id of [person.project_id, ...(await findMerged(db, person.project_id))])
    for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
      const rows = await db.many<Row>`
        select ${columns} from events
        where project_id = ${project_id} and id > ${after} and lower(coalesce(data::text, items::text)) like any(${patternsOf(person)}::text[])
        order by id limit ${pageSize}`
      yield* rows
      const last = rows.at(-1)
      if (!last || rows.length < pageSize) break
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
