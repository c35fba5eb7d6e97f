import type { ContactId, EmailId, ListId, MailboxId, PostId, ProjectId, SubscriberId } from '../../base/ids.ts'
import type { Applied, MailKey } from '../recipients/index.ts'
import type { InboundMail } from './inbound-mail.ts'

/** A mailbox as filing needs it. */
export interface HomeMailbox {
  project_id: ProjectId
  id: MailboxId
  address: string
  address_key: string
  name: string | null
  type: 'persistent' | 'disposable' | 'proxy'
  status: 'active' | 'paused' | 'disabled'
  expires_at: Date | null
  config: Record<string, unknown> | null
  /** The list that it is the own address of, or is tied to. */
  list_id: ListId | null
  /** It is the list's own address: posts may come by mail to it. */
  is_list_address: boolean
}

/** One mailbox that a message goes into. */
export interface Destination {
  mail: InboundMail
  mailbox: HomeMailbox
  /** As in RCPT TO. */
  recipient: string
  /** The mail of ours whose return path it came to. */
  answers: MailKey | null
  /** What it was taken for beside being mail. */
  applied: Applied
  /** An owner's answer that is kept and goes no further; null for all other mail. */
  refused_reply: RefusedReply | null
}

export interface RefusedReply {
  /** Why it did not, for its writer to read. */
  reason: string
}

/** The mail of ours that somebody has answered. */
export interface Original {
  /** Of a single mail; null for the copy of a broadcast. */
  email_id: EmailId | null
  list_id: ListId | null
  post_id: PostId | null
  subscriber_id: SubscriberId | null
  tag: string | null
  metadata: Record<string, string>
}

/** What was done with a mail beside keeping it, by the name of what did it. Shown as `handler_results`. */
export type HandlerResults = Record<string, { status: string; [detail: string]: unknown }>

/** It was asked for, and is not done. */
export const refused = (reason: string): HandlerResults[string] => ({ status: 'refused', reason })

/** A message on its way into one mailbox: a row of `emails`, as far as it is known. */
export interface FiledMail extends Destination {
  id: EmailId
  contact_id: ContactId | null
  thread_id: string
  position: number
  /** Where the raw message lies. */
  raw_key: string
  original: Original | null
  results: HandlerResults
}
