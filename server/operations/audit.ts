import { newId, type ProjectId } from '../base/ids.ts'
import type { Transaction } from '../database/database.ts'
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
