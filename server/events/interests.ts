import type { ProjectId } from '../base/ids.ts'
import { rememberBriefly } from '../base/recent.ts'
import type { Database, Queryable, Transaction } from '../database/database.ts'
import type { EventType } from './catalogue.ts'

/**
 * Who reads events of which types in a project. A million recipients must not become three million rows that nobody reads: the ledger is
 * their source, and events of single recipients are written for whoever has said so here. Webhooks and automations do that in the
 * transaction that makes, changes or removes them, live streams while they are open, each under a name of its own (`webhook:…`).
 */
export interface Interest {
  project_id: ProjectId
  consumer: string
  types: readonly EventType[]
  /** For who may vanish without a word: it ends then, unless it is renewed. */
  lasts_seconds?: number
}

/** Takes the place of what this consumer wanted before. It is heard within half a second by every process. */
export const setInterest = (tx: Transaction, interest: Interest) => setInterests(tx, [interest])

/** Of several, in one statement. The clock is PostgreSQL's, for every process. */
export const setInterests = (db: Queryable, interests: Interest[]) => db.run`
  insert into event_interests (project_id, consumer, types, expires_at)
  select project_id, consumer, types, now() + make_interval(secs => lasts_seconds)
  from json_to_recordset(${JSON.stringify(interests)}) as interest (project_id uuid, consumer text, types text[], lasts_seconds integer)
    join projects p on p.id = interest.project_id
  order by project_id, consumer
  on conflict (project_id, consumer) do update set types = excluded.types, expires_at = excluded.expires_at`

export const dropInterest = (tx: Transaction, { project_id, consumer }: Omit<Interest, 'types'>) => tx.run`
  delete from event_interests where project_id = ${project_id} and consumer = ${consumer}`

/** What somebody wanted who did not come back. */
export const pruneInterests = (db: Queryable) => db.run`delete from event_interests where expires_at < now()`

/** For when two projects become one. */
export const joinInterests = (tx: Transaction, { from, to }: { from: ProjectId; to: ProjectId }) => tx.run`
  with gone as (delete from event_interests where project_id = ${from} returning consumer, types, expires_at)
  insert into event_interests as mine (project_id, consumer, types, expires_at) select ${to}, consumer, types, expires_at from gone
  on conflict (project_id, consumer) do update set types = array(select distinct unnest(mine.types || excluded.types)),
    expires_at = case when mine.expires_at is not null and excluded.expires_at is not null then greatest(mine.expires_at, excluded.expires_at) end`

type Wanted = ReadonlySet<EventType>
const readers = new WeakMap<Database, (project_id: string) => Promise<Wanted>>()

/** The types that anybody in this project reads, as of half a second ago: the sender asks for every batch. */
export function wantedEvents(database: Database, project_id: ProjectId): Promise<Wanted> {
  const known = readers.get(database)
  const read = known ?? rememberBriefly((key) => readWanted(database, key))
  if (!known) readers.set(database, read)
  return read(project_id)
}

/** Of several projects, those that want any of these, with what they want of them. Empty when nobody does. */
export async function whoWants<Type extends EventType>(
  database: Database,
  project_ids: Iterable<ProjectId>,
  types: readonly Type[],
): Promise<Map<ProjectId, Type[]>> {
  const wanting = new Map<ProjectId, Type[]>()
  for (const project_id of new Set(project_ids)) {
    const wanted = await wantedEvents(database, project_id)
    const some = types.filter((type) => wanted.has(type))
    if (some.length > 0) wanting.set(project_id, some)
  }
  return wanting
}

async function readWanted(db: Queryable, project_id: string): Promise<Wanted> {
  const rows = await db.many<{ type: EventType }>`
    select distinct unnest(types) as type from event_interests where project_id = ${project_id} and (expires_at is null or expires_at > now())`
  return new Set(rows.map(({ type }) => type))
}
