import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'

/** For statements that make contacts: goes after a `made` with their `project_id`. The slot follows the session, as in `changeCounts`. */
export const countedContacts = sql`counted_contacts as (
  insert into project_counters as p (project_id, slot, contacts)
  select project_id, pg_backend_pid() % 16, count(*) from made group by project_id order by project_id
  on conflict (project_id, slot) do update set contacts = p.contacts + excluded.contacts)`

/** So many more, or fewer. Call it late in the transaction: the row is held until the commit. */
export const changeContactCount = (tx: Transaction, project_id: ProjectId, change: number) => tx.run`
  insert into project_counters as p (project_id, slot, contacts) values (${project_id}, pg_backend_pid() % 16, ${change})
  on conflict (project_id, slot) do update set contacts = p.contacts + excluded.contacts`

export interface WrongContactCount {
  project_id: ProjectId
  /** How many are missing. */
  contacts: number
}

/** Projects whose counter is not the number of their contacts. Empty is the proof. */
export const wrongContactCounts = (db: Queryable) => db.many<WrongContactCount>`
  with counted as (select project_id, count(*) as contacts from contacts group by project_id),
  kept as (select project_id, sum(contacts) as contacts from project_counters group by project_id)
  select project_id, (coalesce(c.contacts, 0) - coalesce(k.contacts, 0))::bigint as contacts
  from counted c full join kept k using (project_id)
  where coalesce(c.contacts, 0) <> coalesce(k.contacts, 0)`
