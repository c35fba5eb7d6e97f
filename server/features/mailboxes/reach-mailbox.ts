import { ApiError, notFound } from '../../base/errors.ts'
import type { MailboxId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import type { Caller } from '../../operations/context.ts'
import type { MailboxRow } from './mailbox.ts'
import { findMailbox } from './mailbox-queries.ts'

/** The mailbox that a request names, as far as its key reaches. */
export const reachMailbox = async (db: Queryable, caller: Caller, id: MailboxId): Promise<MailboxRow> =>
  refuseBeyond(caller, await findMailbox(db, caller.project_id, id))

/** What is not in the project is not found; another mailbox of the project is beyond a key that is bound to one. */
export function refuseBeyond({ mailbox_id }: Caller, mailbox: MailboxRow | null): MailboxRow {
  if (!mailbox) throw notFound('mailbox')
  if (mailbox_id !== null && mailbox_id !== mailbox.id)
    throw new ApiError('forbidden', 'This key belongs to another mailbox and does not reach beyond it. Use a project-wide key.')
  return mailbox
}
