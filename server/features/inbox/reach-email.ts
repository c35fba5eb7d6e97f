import { notFound } from '../../base/errors.ts'
import type { EmailId, MailboxId } from '../../base/ids.ts'
import type { Context } from '../../operations/context.ts'
import { reachMailbox } from '../mailboxes/index.ts'
import type { InboxRow } from './inbox-email.ts'
import { findInboxEmail } from './inbox-queries.ts'

/** The e-mail that a path names, as far as the key reaches. */
export async function reachEmail(
  { database, caller }: Pick<Context, 'database' | 'caller'>,
  { mailboxId, emailId }: { mailboxId: MailboxId; emailId: EmailId },
): Promise<InboxRow> {
  const { project_id, id: mailbox_id } = await reachMailbox(database, caller, mailboxId)
  const email = await findInboxEmail(database, { project_id, mailbox_id, id: emailId })
  if (!email) throw notFound('e-mail')
  return email
}
