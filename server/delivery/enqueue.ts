import { type MessageId, newId, type ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import type { Transaction } from '../database/database.ts'
import type { OutgoingMail } from '../mail/compose.ts'

/** What a feature says of a message; the engine adds what makes it a message of ours. */
export interface NewMessage {
  project_id: ProjectId
  /** `confirmation`: what the message is for, as the ledger shows it. */
  kind: string
  mail: Omit<OutgoingMail, 'message_id' | 'date'>
}

/** Queued with the change that asks for it: the mail goes out if and only if the change is committed. */
export async function enqueueMessage(tx: Transaction, { project_id, kind, mail }: NewMessage): Promise<MessageId> {
  const id = newId<'msg'>()
  await tx.run`
    insert into messages (project_id, id, kind, recipient, mail, next_attempt_at, created_at)
    values (${project_id}, ${id}, ${kind}, ${mail.to}, ${JSON.stringify(mail)}, ${tx.now}, ${tx.now})`
  tx.afterCommit(() => wake('messages'))
  return id
}
