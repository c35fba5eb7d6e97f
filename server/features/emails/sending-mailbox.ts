import { ApiError, invalid } from '../../base/errors.ts'
import type { Queryable } from '../../database/database.ts'
import type { Caller } from '../../operations/context.ts'
import { findMailbox, findMailboxByAddress, type MailboxRow } from '../mailboxes/index.ts'
import type { NewEmail } from './email.ts'

/** Which mailbox the mail goes out from, as far as the credential reaches. */
export async function findSendingMailbox(db: Queryable, caller: Caller, from: NewEmail['from']): Promise<MailboxRow> {
  const bound = caller.mailbox_id ?? (caller.scopes.includes('send') ? null : caller.agent_mailbox_id)
  const own = bound ?? caller.agent_mailbox_id
  if (!from && !own) throw invalid('from', 'is required with a project-wide key: name the mailbox that sends')
  const mailbox = from ? await findMailboxByAddress(db, caller.project_id, from.key) : await findMailbox(db, caller.project_id, own!) // one of the two is there, as checked above
  if (bound && from && mailbox?.id !== bound)
    throw new ApiError('forbidden', 'from: this key sends from its own mailbox only. Leave from out, or use a key with the scope "send".')
  if (!mailbox) throw invalid('from', 'names no mailbox of this project. GET /lists shows each list’s mailbox_address.')
  if (mailbox.status !== 'active') throw invalid('from', `is ${mailbox.status}; only an active mailbox sends`)
  return mailbox
}
