import type { EventId, ProjectId, WebhookId } from '../../../base/ids.ts'
import type { Queryable, Transaction } from '../../../database/database.ts'
import { sql } from '../../../database/sql.ts'
import type { EventType } from '../../../events/catalogue.ts'
import { orderedId, timeOfId } from './queue-queries.ts'

/** An event row whose deliveries are still to be filed, from `next_item` on. */
export interface MassRow {
  project_id: ProjectId
  id: string
  event_project_id: ProjectId
  event_row_id: EventId
  item_count: number
  next_item: number
  webhooks: WebhookId[]
}

/** Which of these projects have something put aside. */
export async function findProjectsBehind(tx: Transaction, projects: ProjectId[]): Promise<Set<ProjectId>> {
  const behind = await tx.many<{ project_id: ProjectId }>`
    select project_id from unnest(${projects}::uuid[]) as p (project_id)
    where exists (select 1 from webhook_masses m where m.project_id = p.project_id)`
  return new Set(behind.map(({ project_id }) => project_id))
}

export type NewMass = Omit<MassRow, 'id' | 'next_item'> & { event_type: EventType }

/** In this order. */
export async function putAside(tx: Transaction, masses: NewMass[]): Promise<void> {
  if (masses.length === 0) return
  await tx.run`
    with moment as materialized (select ${timeOfId} as ms)
    insert into webhook_masses (project_id, id, event_project_id, event_row_id, event_type, item_count, webhooks, created_at)
    select project_id, ${orderedId(sql`(select ms from moment)`, sql`number`)}, event_project_id, event_row_id, event_type, item_count, webhooks, ${tx.now}
    from json_to_recordset(${JSON.stringify(masses.map((mass, number) => ({ ...mass, number })))}) as m (
      project_id uuid, event_project_id uuid, event_row_id uuid, event_type text, item_count integer, webhooks uuid[], number integer)`
}

/** The next project that has something aside, round and round. */
export const nextProject = (db: Queryable, after: ProjectId | null) => db.first<{ project_id: ProjectId }>`
  select project_id from (
    (select project_id, 1 as turn from webhook_masses where project_id > ${after}::uuid order by project_id limit 1)
    union all
    (select project_id, 2 as turn from webhook_masses order by project_id limit 1)
  ) next order by turn limit 1`

/** The lock of a filer: a webhook is neither deleted nor moved before its deliveries are there to go with it. */
export const holdWebhooks = (tx: Transaction, project_id: ProjectId) => tx.run`
  select 1 from webhooks where project_id = ${project_id} order by id for key share`

/** Whoever has the first one has them all, so that they are filed in their order. */
export async function holdFirst(tx: Transaction, project_id: ProjectId): Promise<boolean> {
  const held = await tx.first`
    select 1 from webhook_masses where project_id = ${project_id}
      and id = (select id from webhook_masses where project_id = ${project_id} order by id limit 1) for update skip locked`
  return held !== null
}

export const readMasses = (tx: Transaction, project_id: ProjectId, limit: number) => tx.many<MassRow>`
  select project_id, id, event_project_id, event_row_id, item_count, next_item, webhooks from webhook_masses
  where project_id = ${project_id} order by id limit ${limit}`

export const removeMasses = (tx: Transaction, project_id: ProjectId, ids: string[]) => tx.run`
  delete from webhook_masses where project_id = ${project_id} and id = any(${ids}::uuid[])`

export const setNextItem = (tx: Transaction, { project_id, id }: MassRow, next_item: number) => tx.run`
  update webhook_masses set next_item = ${next_item} where project_id = ${project_id} and id = ${id}`

/** For when two projects become one. Webhooks move before these: a filer holds them in this order. */
export const moveMasses = (tx: Transaction, { from, to }: { from: ProjectId; to: ProjectId }) => tx.run`
  update webhook_masses set project_id = ${to} where project_id = ${from}`
