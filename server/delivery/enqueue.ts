import { type EmailId, type ListId, type MessageId, newId, type ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import type { Transaction } from '../database/database.ts'
import { nothing, sql } from '../database/sql.ts'
import { parseAddress } from '../mail/address.ts'
import type { OutgoingMail } from '../mail/compose.ts'

/** What a feature says of a message; the engine adds what makes it a message of ours. */
export interface NewMessage {
  project_id: ProjectId
  /** That of the e-mail which it carries, so that what becomes of one is known of the other. Left out, it carries none. */
  id?: EmailId
  /** `confirmation`: what the message is for, as the ledger shows it. */
  kind: string
  /** On whose behalf it goes out, for the recipient's history. */
  list_id?: ListId
  /** It has a code or a link in it that opens something: its text is not kept once it has left. */
  isSecret?: boolean
  mail: Omit<OutgoingMail, 'message_id' | 'date'>
}

/**
 * Queued with the change that asks for it: the mail goes out if and only if the change is committed. It is due at once, also for a sender
 * whose clock is behind ours.
 */
export async function enqueueMessage(
  tx: Transaction,
  { project_id, id: carried, kind, list_id, isSecret = false, mail }: NewMessage,
): Promise<MessageId> {
  const id = carried ? (carried as string as MessageId) : newId<'msg'>()
  await tx.run`
    insert into messages (project_id, id, kind, list_id, is_secret, recipient, recipient_key, mail, next_attempt_at, created_at)
    values (${project_id}, ${id}, ${kind}, ${list_id ?? null}, ${isSecret}, ${mail.to}, ${keyOf(mail.to)}, ${JSON.stringify(mail)}, least(now(), ${tx.now}::timestamptz), ${tx.now})`
  tx.afterCommit(() => wake('messages'))
  return id
}

/** Many of one kind for one list, in one statement. */
export async function enqueueMessages(
  tx: Transaction,
  { project_id, kind, list_id, mails }: { project_id: ProjectId; kind: string; list_id: ListId; mails: NewMessage['mail'][] },
): Promise<void> {
  if (mails.length === 0) return
  await tx.run`
    insert into messages (project_id, id, kind, list_id, is_secret, recipient, recipient_key, mail, next_attempt_at, created_at)
    select ${project_id}, id, ${kind}, ${list_id}, false, recipient, recipient_key, mail, least(now(), ${tx.now}::timestamptz), ${tx.now}
    from unnest(${mails.map(() => newId<'msg'>())}::uuid[], ${mails.map(({ to }) => to)}::text[], ${mails.map(({ to }) => keyOf(to))}::text[],
      ${mails.map((mail) => JSON.stringify(mail))}::jsonb[]) as one (id, recipient, recipient_key, mail)`
  tx.afterCommit(() => wake('messages'))
}

/** How many messages of a kind were meant for an address since then, or by a project, or both. */
export async function countMessages(
  tx: Transaction,
  { kind, since, project_id, recipient_key }: { kind: string; since: Date; project_id?: ProjectId; recipient_key?: string },
): Promise<number> {
  const counted = await tx.first<{ count: number }>`
    select count(*) as count from messages where kind = ${kind} and created_at > ${since}
      ${project_id === undefined ? nothing : sql`and project_id = ${project_id}`}
      ${recipient_key === undefined ? nothing : sql`and recipient_key = ${recipient_key}`}`
  return counted?.count ?? 0
}

/** Addresses are parsed long before they come here; one that cannot be is the composer's to refuse, and the ledger's to show. */
function keyOf(address: string): string {
  const parsed = parseAddress(address)
  return parsed.ok ? parsed.value.key : address.toLowerCase()
}
