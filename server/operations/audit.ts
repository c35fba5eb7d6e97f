import { newId, type ProjectId } from '../base/ids.ts'
import type { Database, Transaction } from '../database/database.ts'
import { type Fragment, sql } from '../database/sql.ts'
import type { Caller } from './context.ts'

export interface AuditRow {
  project_id: ProjectId
  /** The operation's id: `lists.create`. */
  operation: string
  /** Null when nobody's key was used, as on the command line. */
  caller: Pick<Caller, 'user_id' | 'key_id'> | null
  target: object
  request_id: string
}

/** Who changed what: every mutation leaves a row, in the transaction that makes it. */
export const leaveAuditRow = (tx: Transaction, { project_id, operation, caller, target, request_id }: AuditRow) => tx.run`
  insert into audit_log (project_id, id, at, operation, user_id, key_id, target, request_id)
  values (${project_id}, ${newId()}, ${tx.now}, ${operation}, ${caller?.user_id ?? null}, ${caller?.key_id ?? null}, ${JSON.stringify(target)}, ${request_id})`

/** What one request leaves in the log, for a transaction that it shares with others. */
export interface AuditTrail {
  /** As it is: what is done with it leaves no row by itself. */
  database: Database
  row: AuditRow
  /** Once it is committed: what the same request changes later is no second change. */
  isLeft: boolean
}

export async function leaveTrail(tx: Transaction, trail: AuditTrail): Promise<void> {
  if (!trail.isLeft) await tx.run`${leavingTrails(tx, [trail])}`
}

/** A statement, for those that have left none yet; a `where` may follow it. */
export function leavingTrails(tx: Transaction, trails: AuditTrail[]): Fragment {
  const rows = trails.map(({ row: { caller, ...row } }) => ({ ...row, id: newId(), user_id: caller?.user_id, key_id: caller?.key_id }))
  tx.afterCommit(() => {
    for (const trail of trails) trail.isLeft = true
  })
  return sql`
    insert into audit_log (project_id, id, at, operation, user_id, key_id, target, request_id)
    select project_id, id, ${tx.now}, operation, user_id, key_id, target, request_id
    from json_to_recordset(${JSON.stringify(rows)}) as row (project_id uuid, id uuid, operation text, user_id uuid, key_id uuid, target jsonb, request_id text)`
}
