import type { EmailId, MessageId, ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import type { FailureClass } from '../../mail/reports/report.ts'

/** A queued message that carries an e-mail of a proxy mailbox, and has its id: what came in, on to the owner, or the owner's answer. */
export interface CopyRow {
  project_id: ProjectId
  id: MessageId
  kind: 'forward' | 'proxy_reply'
  email: string
  status: 'queued' | 'sending' | 'delivered' | 'bounced' | 'failed'
  smtp_code: number | null
  enhanced_code: string | null
  bounce_class: FailureClass | null
  reason: string | null
  settled_at: Date | null
}

const columns = sql`project_id, id, kind, recipient as email, status, smtp_code, enhanced_code, bounce_class, reason, settled_at`

export const lockCopy = (tx: Transaction, { project_id, id }: { project_id: ProjectId; id: MessageId }) => tx.first<CopyRow>`
  select ${columns} from messages where project_id = ${project_id} and id = ${id} and kind in ('forward', 'proxy_reply') for update`

/** Settled by the sender, and not looked at since. */
export const lockUnfollowedCopies = (tx: Transaction, limit: number) => tx.many<CopyRow>`
  select ${columns} from messages where kind in ('forward', 'proxy_reply') and settled_at is not null and followed_at is null
  order by settled_at limit ${limit} for update skip locked`

export const saveAnswerFate = (
  tx: Transaction,
  { project_id, id, status, smtp_code, enhanced_code, reason, bounce_class }: CopyRow,
) => tx.run`
  update emails set status = ${status}, smtp_code = ${smtp_code}, enhanced_code = ${enhanced_code}, reason = ${reason},
    is_soft_bounce = ${bounce_class === 'soft'}, updated_at = ${tx.now}
  where project_id = ${project_id} and id = ${id}`

export const saveForwardFate = (tx: Transaction, { project_id, id, status, reason }: CopyRow) => tx.run`
  update emails set handler_results = coalesce(handler_results, '{}') || jsonb_build_object('forward', ${JSON.stringify({ status, ...(reason === null ? {} : { reason }) })}::jsonb)
  where project_id = ${project_id} and id = ${id}`

/** What was refused at once has not left, and is not booked any more. */
export const forgetBooking = (tx: Transaction, { project_id, id }: CopyRow) => tx.run`
  update emails set reservation_id = null where project_id = ${project_id} and id = ${id}`

export const emailOf = ({ project_id, id }: CopyRow): { project_id: ProjectId; id: EmailId } => ({
  project_id,
  id: id as string as EmailId,
})
