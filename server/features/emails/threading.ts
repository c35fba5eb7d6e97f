import type { EmailId, ThreadId } from '../../base/ids.ts'
import { isMessageId } from './email.ts'

/** Where a mail stands in a conversation. Message-IDs are without their angle brackets. */
export interface Parentage {
  in_reply_to: string | null
  /** What came before it, oldest first. */
  reference_ids: string[]
  /** Null: it begins a thread, which is called by its id. */
  thread_id: ThreadId | null
}

/** What a reply needs to know of the mail that it answers. */
export interface Parent {
  id: EmailId
  in_reply_to: string | null
  reference_ids: string[]
  thread_id: ThreadId | null
}

export const newThread: Parentage = { in_reply_to: null, reference_ids: [], thread_id: null }

/** A thread has the id of its first mail. */
export const threadBegunBy = (id: EmailId): ThreadId => id as string as ThreadId

/** RFC 5322 section 3.6.4. `parent` is null when the mailbox does not have that mail: it is named all the same, for who has it. */
export const replyTo = (message_id: string, parent: Parent | null): Parentage => ({
  in_reply_to: message_id,
  reference_ids: shortened([...ancestorsOf(parent), message_id]),
  thread_id: parent && (parent.thread_id ?? threadBegunBy(parent.id)),
})

const ancestorsOf = (parent: Parent | null): string[] => {
  if (!parent) return []
  const named = parent.reference_ids.length > 0 ? parent.reference_ids : [parent.in_reply_to ?? '']
  return named.filter(isMessageId)
}

/** Long conversations keep where they began, by which programs find the thread, and what was said last. */
const maxReferencesLength = 998
const lastKept = 10

export function shortened(ids: string[]): string[] {
  if (ids.length <= lastKept + 1 || referencesOf(ids).length <= maxReferencesLength) return ids
  return [ids[0] as string, ...ids.slice(-lastKept)]
}

const referencesOf = (ids: string[]): string => ids.map((id) => `<${id}>`).join(' ')

export const threadHeaders = ({ in_reply_to, reference_ids }: Pick<Parentage, 'in_reply_to' | 'reference_ids'>): Record<string, string> =>
  in_reply_to === null ? {} : { 'In-Reply-To': `<${in_reply_to}>`, References: referencesOf(reference_ids) }
