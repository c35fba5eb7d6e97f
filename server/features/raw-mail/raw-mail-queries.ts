import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { type Fragment, sql } from '../../database/sql.ts'

export interface Kept {
  /** As it was in the spool. */
  id: string
  kept_id: string
  project_id: ProjectId
}

/**
 * Files these where they are: from now on they belong to a project, and are never due. Who handed them over is not kept. Answers the ids, as they were, of those that
 * were still there: whoever was at the same ones waits here, and then finds none, because they are called otherwise.
 */
export const keepInPlace = (tx: Transaction, kept: Kept[]) => tx.many<{ id: string }>`
  update inbound_spool s
  set id = k.kept_id, project_id = k.project_id, next_attempt_at = null, problem = null, peer = '{}', envelope_from = '', recipients = '{}'
  from unnest(${kept.map(({ id }) => id)}::uuid[], ${kept.map(({ kept_id }) => kept_id)}::uuid[], ${kept.map(({ project_id }) => project_id)}::uuid[])
    as k (id, kept_id, project_id)
  where s.id = k.id returning k.id`

export const findKept = (db: Queryable, { project_id, kept_id }: Pick<Kept, 'project_id' | 'kept_id'>) => db.first<{ raw: Buffer }>`
  select raw from inbound_spool where project_id = ${project_id} and id = ${kept_id}`

/** The text of the e-mail `e`: of most small mail without parts, it is read out of the raw message, where it stands already, as `readPlainBody` reads it. */
export const emailText: Fragment = sql`case when e.raw_text_at is null then e.text_body else (
  select replace(convert_from(substring(kept.raw from e.raw_text_at + 1 for e.raw_text_bytes), 'UTF8'), E'\\r\\n', E'\\n')
  from inbound_spool kept where kept.project_id = e.project_id and kept.id = split_part(e.raw_key, '/', 2)::uuid) end`

export const deleteKept = (db: Queryable, { project_id, kept_ids }: { project_id: ProjectId; kept_ids: string[] }) => db.run`
  delete from inbound_spool where project_id = ${project_id} and id = any(${kept_ids}::uuid[])`

export interface StoredMail {
  messages: number
  bytes: number
  /** Some of the oldest and of the newest. */
  sample: string[]
}

/** Of all projects: for whoever runs the installation, and copies its files. */
export const countStored = (db: Queryable, { keptPrefix, sampled }: { keptPrefix: string; sampled: number }) => db.first<StoredMail>`
  with stored as (
    select raw_key, max(raw_size) as size, max(created_at) as newest from emails
    where raw_key is not null and not starts_with(raw_key, ${keptPrefix}) group by raw_key)
  select count(*)::integer as messages, coalesce(sum(size), 0)::float8 as bytes, array(
    (select raw_key from stored order by newest limit ${sampled}) union (select raw_key from stored order by newest desc limit ${sampled})) as sample
  from stored`
