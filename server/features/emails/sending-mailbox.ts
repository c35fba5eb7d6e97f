import { ApiError, invalid } from '../../base/errors.ts'
import type { MailboxId } from '../../base/ids.ts'
import type { Queryable } from '../../database/database.ts'
import type { Caller } from '../../operations/context.ts'
import { findMailbox, findMailboxByAddress, type MailboxRow } from '../mailboxes/index.ts'
import { stateOf } from '../mailboxes/mailbox.ts'
import type { NewEmail } from './email.ts'

interface Wanted {
  caller: Caller
  from: NewEmail['from']
  now: Date
}

/** Which mailbox the mail goes out from, as far as the credential reaches. */
export async function findSendingMailbox(db: Queryable, { caller, from, now }: Wanted): Promise<MailboxRow> {
  const bound = boundMailboxOf(caller)
  const own = bound ?? caller.agent_mailbox_id
  if (!from && !own) throw invalid('from', 'is required with a project-wide key: name the mailbox that sends')
  const mailbox = from ? await findMailboxByAddress(db, caller.project_id, from.key) : await findMailbox(db, caller.project_id, own!) // one of the two is there, as checked above
  if (bound && from && mailbox?.id !== bound)
    throw new ApiError('forbidden', 'from: this key sends from its own mailbox only. Leave from out, or use a key with the scope "send".')
  if (!mailbox) throw invalid('from', 'names no mailbox of this project. GET /lists shows each list’s mailbox_address.')
  refuseInactive(mailbox, 'from', now)
  return mailbox
}

/** The only mailbox that a credential sends from, if it is held to one: the key's own, or that of an agent without the scope `send`. */
export const boundMailboxOf = (caller: Caller): MailboxId | null =>
  caller.mailbox_id ?? (caller.scopes.includes('send') ? null : caller.agent_mailbox_id)

/** One that takes no answers sends nothing either. */
export function refuseInactive(mailbox: MailboxRow, field: string, now: Date): void {
  const state = stateOf(mailbox, now)
  if (state !== 'active') throw invalid(field, `is ${state}; only an active mailbox sends`)
}
