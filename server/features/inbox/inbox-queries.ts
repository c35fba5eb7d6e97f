import { type EmailId, lowestIdSince, type MailboxId, type ProjectId, type ThreadId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { likePattern } from '../../database/search.ts'
import { type Fragment, nothing, sql } from '../../database/sql.ts'
import type { EmailTag, Parent } from '../emails/index.ts'
import { emailText } from '../raw-mail/index.ts'
import type { InboxRow, InboxStatus, InboxSummaryRow } from './inbox-email.ts'

export interface BoxKey {
  project_id: ProjectId
  mailbox_id: MailboxId
}

/** A mark on a mail that was sent counts for more than its fate, but that it was answered is more than "read". */
const shownStatus = sql`case when mark is null or (mark = 'read' and status = 'replied') then status else mark end`
const summaryColumns = sql`project_id, id, mailbox_id, direction, from_address, from_name, to_address, subject, ${shownStatus} as status, tags,
  thread_id, jsonb_array_length(attachments) as attachment_count, position, created_at`

export interface InboxFilter {
  direction?: 'inbound' | 'outbound' | undefined
  status?: InboxStatus | undefined
  tag?: EmailTag | undefined
  thread_id?: ThreadId | undefined
  search?: string | undefined
}

function matching({ direction, status, tag, thread_id, search }: InboxFilter): Fragment {
  return sql`
    ${direction === undefined ? nothing : sql`and direction = ${direction}`}
    ${status === undefined ? nothing : withStatus(status)}
    ${tag === undefined ? nothing : sql`and tags @> ${JSON.stringify([tag])}::jsonb`}
    ${thread_id === undefined ? nothing : sql`and thread_id = ${thread_id}`}
    ${search === undefined ? nothing : holding(search)}`
}

/** `received` is never shown for a mail with a mark: said in the index's own words, only what is unread is looked at. */
const withStatus = (status: InboxStatus): Fragment =>
  status === 'received' ? sql`and status = 'received'` : sql`and ${shownStatus} = ${status}`

const maxWords = 10

/** Every word, anywhere in it, in any case. */
const holding = (search: string): Fragment => {
  const words = search.split(/\s+/).slice(0, maxWords)
  return sql`and lower(coalesce(subject, '') || ' ' || coalesce(from_name, '') || ' ' || from_address || ' ' || to_address || ' ' || coalesce(${emailText}, ''))
    like all(${words.map(likePattern)}::text[])`
}

/** Newest first, before the e-mail `before`. */
export const pageEmails = (
  db: Queryable,
  { project_id, mailbox_id }: BoxKey,
  { before, limit, ...filter }: InboxFilter & { before: string | null; limit: number },
) => db.many<InboxSummaryRow>`
  select ${summaryColumns} from emails e
  where project_id = ${project_id} and mailbox_id = ${mailbox_id} ${before === null ? nothing : sql`and id < ${before}`} ${matching(filter)}
  order by id desc limit ${limit}`

export interface Found {
  rows: InboxSummaryRow[]
  /** The last e-mail that was looked at, when there are more behind it. */
  lookedUpTo: EmailId | null
}

/** How many e-mails one request looks through for a word, or for a status that no index knows: a fraction of a second. */
export const lookedThrough = 10_000

/**
 * Newest first. There is no index of words: to keep one costs twenty times as much for each mail that comes in as to look through it
 * once, and most mail is never searched. So a search goes through the mailbox, a stretch at a time.
 */
export async function searchEmails(
  db: Queryable,
  box: BoxKey,
  { before, limit, search, status, ...filter }: InboxFilter & { before: string | null; limit: number },
): Promise<Found> {
  const stretch = sql`from emails
    where project_id = ${box.project_id} and mailbox_id = ${box.mailbox_id} ${before === null ? nothing : sql`and id < ${before}`} ${matching(filter)}
    order by id desc`
  const rows = await db.many<InboxSummaryRow>`
    select ${summaryColumns} from (select * ${stretch} limit ${lookedThrough}) e
    where true ${matching({ search, status })} order by id desc limit ${limit}`
  if (rows.length === limit) return { rows, lookedUpTo: null }
  const last = await db.first<{ id: EmailId }>`select id ${stretch} offset ${lookedThrough - 1} limit 1`
  return { rows, lookedUpTo: last?.id ?? null }
}

/** In the order of arrival, after the place `after`: of a stretch of the mailbox that begins there. */
export const emailsAfter = (
  db: Queryable,
  { project_id, mailbox_id }: BoxKey,
  { after, limit, ...filter }: InboxFilter & { after: number; limit: number },
) => db.many<InboxSummaryRow>`
  select ${summaryColumns} from emails e
  where project_id = ${project_id} and mailbox_id = ${mailbox_id} and position > ${after} and position <= ${after + lookedThrough} ${matching(filter)}
  order by position limit ${limit}`

/** The place of the last mail so far; null when the mailbox is gone. */
export const lastPlace = async (db: Queryable, { project_id, mailbox_id }: BoxKey): Promise<number | null> =>
  (
    await db.first<{ last_position: number }>`
      select last_position from mailboxes where project_id = ${project_id} and id = ${mailbox_id} and deleted_at is null`
  )?.last_position ?? null

/** The last place before what was filed since then, of the newest few. When it came in may be long before that: the id tells the filing. */
export const lastPlaceBefore = async (db: Queryable, { project_id, mailbox_id }: BoxKey, since: Date): Promise<number | null> =>
  (
    await db.first<{ place: number | null }>`
      select min(position) - 1 as place from (
        select position, id from emails where project_id = ${project_id} and mailbox_id = ${mailbox_id} and position is not null
        order by position desc limit 200) newest
      where id >= ${lowestIdSince(since)}::uuid`
  )?.place ?? null

export interface EmailKey extends BoxKey {
  id: EmailId
}

const rowColumns = sql`project_id, id, mailbox_id, direction, from_address, from_name, to_address, subject, ${shownStatus} as status, tags,
  thread_id, position, created_at, message_id, in_reply_to, reference_ids, reply_to, ${emailText} as text_body, html_body, extracted_text, extracted_data,
  handler_results, verdicts, attachments, is_automatic, contact_id, reason, raw_key`

export const findInboxEmail = (db: Queryable, { project_id, mailbox_id, id }: EmailKey) => db.first<InboxRow>`
  select ${rowColumns} from emails e where project_id = ${project_id} and mailbox_id = ${mailbox_id} and id = ${id}`

/** Two changes of one mail take turns. */
export const lockInboxEmail = (tx: Transaction, { project_id, mailbox_id, id }: EmailKey) => tx.first<InboxRow>`
  select ${rowColumns} from emails e where project_id = ${project_id} and mailbox_id = ${mailbox_id} and id = ${id} for update`

export const saveStatus = (tx: Transaction, { project_id, id }: EmailKey, status: InboxStatus) => tx.run`
  update emails set status = ${status}, updated_at = ${tx.now} where project_id = ${project_id} and id = ${id}`

/** The fate of a mail that was sent is the engine's to write. */
export const saveMark = (tx: Transaction, { project_id, id }: EmailKey, mark: 'read' | 'archived') => tx.run`
  update emails set mark = ${mark}, updated_at = ${tx.now} where project_id = ${project_id} and id = ${id}`

/** Where strangers give two mails one id, the newest is meant. */
export const findParent = (db: Queryable, { project_id, mailbox_id }: BoxKey, message_id: string) => db.first<Parent>`
  select id, in_reply_to, reference_ids, thread_id from emails
  where project_id = ${project_id} and message_id = ${message_id} and mailbox_id = ${mailbox_id} order by id desc limit 1`
