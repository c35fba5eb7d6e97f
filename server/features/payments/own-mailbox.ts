import type { MailboxId } from '../../base/ids.ts'
import type { Caller } from '../../operations/context.ts'

/** An agent without the scope to send was let in for its own mailbox: it has an allowance of its own there, and no other. */
export const ownMailboxOf = ({ scopes, agent_mailbox_id }: Caller): MailboxId | null => (scopes.includes('send') ? null : agent_mailbox_id)
