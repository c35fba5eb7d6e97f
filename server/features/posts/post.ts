import { z } from 'zod'
import { invalid } from '../../base/errors.ts'
import { type BroadcastId, idOf, type ListId, type PostId, type ProjectId, type UserId } from '../../base/ids.ts'
import { type WarmUpRow, warmUpToday } from '../../mail/warm-up-days.ts'
import { line, text, timestamp } from '../../operations/schemas.ts'

/**
 * draft ⇄ scheduled; draft → published, on the site only; draft → rejected, when it needed approval. Sending begins from draft,
 * scheduled or published, and the status stays until the last recipient has a final one: then the post is `sent`. Meanwhile
 * its broadcast is sending or paused, and that counts before the status does. An aborted broadcast leaves a sent post, too: some
 * have it, and nobody may get it twice. A published post that is taken off the site is a draft again; what was mailed stays what it is, with
 * `hidden_at`.
 */
export const PostStatus = z.enum(['draft', 'scheduled', 'published', 'sent', 'rejected'])
export type PostStatus = z.output<typeof PostStatus>
export const PostSourceName = z.enum(['api', 'email'])
const BroadcastStatus = z.enum(['sending', 'paused', 'done', 'aborted'])

export type PostState = PostStatus | 'sending' | 'paused'

/** A post without its bodies, together with its newest broadcast. */
export interface PostHead {
  project_id: ProjectId
  list_id: ListId
  id: PostId
  subject: string
  status: PostStatus
  source: z.output<typeof PostSourceName>
  needs_approval: boolean
  scheduled_at: Date | null
  sent_at: Date | null
  created_at: Date
  broadcast_status: z.output<typeof BroadcastStatus> | null
  recipients: number | null
}

export interface PostRow extends PostHead {
  /** Where it stands on the site, once it was published or sent. */
  slug: string | null
  likes: number
  preview_text: string | null
  body_html: string | null
  body_text: string | null
  body_markdown: string | null
  published_at: Date | null
  /** When it was taken off the site; null while it is there, or was never. */
  hidden_at: Date | null
  broadcast_id: BroadcastId | null
  broadcast_reason: string | null
  /** Of the domain that the broadcast is from, if it is or was new to receivers. */
  warming_since: Date | null
  warm_up_counted_from: Date | null
  warm_up_sent: number | null
  delivered: number | null
  opened: number | null
  clicked: number | null
  bounced: number | null
  created_by: UserId | null
  issues_summary: Record<string, unknown> | null
  checked_at: Date | null
  updated_at: Date
}

type PostAction =
  | 'update'
  | 'delete'
  | 'schedule'
  | 'cancel'
  | 'reject'
  | 'publish'
  | 'unpublish'
  | 'send'
  | 'pause'
  | 'resume'
  | 'abort'
  | 'retry'

/** Which action each state allows. The only place that knows. */
const allowed: Record<PostState, readonly PostAction[]> = {
  draft: ['update', 'delete', 'schedule', 'reject', 'publish', 'send'],
  scheduled: ['schedule', 'cancel', 'send'],
  published: ['unpublish', 'send'],
  sending: ['publish', 'unpublish', 'pause', 'abort'],
  paused: ['publish', 'unpublish', 'resume', 'abort'],
  sent: ['publish', 'unpublish', 'retry'],
  rejected: [],
}

const rules: Record<PostAction, string> = {
  update: 'only a draft can be changed; unpublish what was only published, or duplicate it, to get one',
  delete: 'only a draft can be deleted; unpublish takes a post off the site',
  schedule: 'only a draft can be scheduled',
  cancel: 'only a scheduled post can be cancelled',
  reject: 'only a draft that needs approval can be rejected',
  publish: 'only a draft, or what was sent and taken off the site, can be published',
  unpublish: 'only a post that is on the site can be taken off it',
  send: 'only a draft, a scheduled or a published post can be sent; duplicate it to send it again',
  pause: 'only a post that is being sent can be paused',
  resume: 'only a paused post can be resumed',
  abort: 'only a post that is being sent can be aborted',
  retry: 'only what failed of a post that was sent to the end can be tried again',
}

export const stateOf = (post: Pick<PostHead, 'status' | 'broadcast_status'>): PostState =>
  post.broadcast_status === 'sending' || post.broadcast_status === 'paused' ? post.broadcast_status : post.status

export const can = (action: PostAction, post: Pick<PostRow, 'status' | 'broadcast_status' | 'needs_approval' | 'hidden_at'>): boolean =>
  allowed[stateOf(post)].includes(action) &&
  (action !== 'reject' || post.needs_approval) &&
  (action !== 'publish' || stateOf(post) === 'draft' || post.hidden_at !== null) &&
  (action !== 'unpublish' || post.hidden_at === null) &&
  (action !== 'retry' || post.broadcast_status === 'done')

/** 422 that says how things stand and what would have to be. */
export function refuseUnless(action: PostAction, post: PostRow): void {
  if (can(action, post)) return
  const state = stateOf(post)
  const isPlainDraft = action === 'reject' && state === 'draft'
  const isAborted = action === 'retry' && post.broadcast_status === 'aborted'
  const isOffSite = action === 'unpublish' && post.hidden_at !== null
  const more = isPlainDraft ? ' and needs no approval' : isAborted ? ' and was aborted' : isOffSite ? ' and off the site' : ''
  throw invalid('status', `is ${state}${more}; ${rules[action]}`)
}

/** Nobody means to send an empty page to everybody. */
export function refuseEmpty(post: Pick<PostRow, 'body_html' | 'body_text' | 'body_markdown'>): void {
  if ([post.body_html, post.body_markdown, post.body_text].some((body) => body !== null && body.trim() !== '')) return
  throw invalid('body_html', 'is empty, and so are body_markdown and body_text; write something first')
}

export const PostParams = z.object({ listId: idOf('lst'), postId: idOf('post') })

export const PostSummary = z
  .object({
    id: idOf('post'),
    subject: z.string(),
    status: PostStatus,
    source: PostSourceName,
    needs_approval: z.boolean().meta({ description: 'A draft that came by mail or from an agent: approve it by sending, or reject it' }),
    sending: z.boolean().meta({ description: 'A broadcast is in flight' }),
    created_at: timestamp,
    sent_at: timestamp.nullable(),
    scheduled_at: timestamp.nullable(),
    recipients: z.int().nullable(),
  })
  .meta({ id: 'PostSummary' })

const count = z.int()

const WarmUp = z
  .object({
    ceiling: count.meta({ description: 'What the sending domain may send today, all its mail together; twice as much each day' }),
    sent_today: count,
    continues_at: timestamp.nullable().meta({ description: 'When the rest goes out; null while there is room today' }),
  })
  .meta({ id: 'WarmUp' })

export const PostDetail = z
  .object({
    id: idOf('post'),
    subject: z.string(),
    slug: z
      .string()
      .nullable()
      .meta({ description: 'Its place on the list’s site, /p/{slug}: made of the subject when it is first published or sent, and kept' }),
    preview_text: z.string().nullable(),
    status: PostStatus,
    source: PostSourceName,
    needs_approval: z.boolean(),
    sending: z.boolean(),
    scheduled_at: timestamp.nullable(),
    published_at: timestamp
      .nullable()
      .meta({ description: 'When it was published, or began to be sent: since then it is on the list’s site' }),
    hidden_at: timestamp.nullable().meta({ description: 'When it was taken off the list’s site, though it was mailed; null otherwise' }),
    body_html: z.string().nullable(),
    body_text: z.string().nullable(),
    body_markdown: z.string().nullable(),
    issues_summary: z.record(z.string(), z.unknown()).nullable(),
    checked_at: timestamp.nullable(),
    created_at: timestamp,
    sent_at: timestamp.nullable(),
    likes: z.int().meta({ description: 'How often the button on the site was pressed, once a day for each visitor' }),
    broadcast: z
      .object({
        status: BroadcastStatus,
        reason: z.string().nullable().meta({ description: 'Why it is paused, in words' }),
        warm_up: WarmUp.nullable().meta({ description: 'Set while it is on its way from a domain that is new to receivers' }),
      })
      .optional()
      .meta({ description: 'The newest send; left out while there was none' }),
    stats: z
      .object({ recipients: count, delivered: count, opened: count, clicked: count, bounced: count })
      .optional()
      .meta({ description: 'Of the newest send; left out while there was none' }),
  })
  .meta({ id: 'PostDetail' })

/** Mail clients cut off what is longer than a tenth of this. */
const body = text(1_000_000)
export const bodyLimit = 4 * 1024 * 1024

const content = {
  body_html: body.meta({ description: 'HTML with Liquid merge tags, such as {{ name | default: "friend" }}' }),
  body_text: body.meta({ description: 'The plain text part; derived from the HTML when left out' }),
  body_markdown: body.meta({ description: 'In place of body_html' }),
  preview_text: text(500).meta({ description: 'What mail clients show beside the subject' }),
}

export const NewPost = z.object({
  subject: line(998),
  body_html: content.body_html.optional(),
  body_text: content.body_text.optional(),
  body_markdown: content.body_markdown.optional(),
  preview_text: content.preview_text.optional(),
})

export const PostChanges = z.object({
  subject: line(998).optional(),
  body_html: content.body_html.nullable().optional(),
  body_text: content.body_text.nullable().optional(),
  body_markdown: content.body_markdown.nullable().optional(),
  preview_text: content.preview_text.nullable().optional(),
})

const isSending = (post: PostHead): boolean => ['sending', 'paused'].includes(stateOf(post))

export const toPostSummary = (row: PostHead): z.output<typeof PostSummary> => ({ ...row, sending: isSending(row) })

export const toPostDetail = (row: PostRow, now: Date): z.output<typeof PostDetail> => ({
  ...row,
  sending: isSending(row),
  broadcast:
    row.broadcast_status === null ? undefined : { status: row.broadcast_status, reason: row.broadcast_reason, warm_up: warmUpOf(row, now) },
  stats: row.broadcast_status === null ? undefined : statsOf(row),
})

function warmUpOf(row: PostRow, now: Date): z.output<typeof WarmUp> | null {
  const { warming_since: started_at, warm_up_counted_from: counted_from, warm_up_sent: sent } = row
  if (!isSending(row) || started_at === null || counted_from === null || sent === null) return null
  return warmUpToday({ started_at, counted_from, sent } satisfies WarmUpRow, now)
}

const statsOf = ({ recipients, delivered, opened, clicked, bounced }: PostRow) => ({
  recipients: recipients ?? 0,
  delivered: delivered ?? 0,
  opened: opened ?? 0,
  clicked: clicked ?? 0,
  bounced: bounced ?? 0,
})

/** What every post event carries: the post as it is after what happened, without its bodies. */
export const postEventData = (row: PostHead) => ({
  post_id: row.id,
  list_id: row.list_id,
  subject: row.subject,
  post: toPostSummary(row),
})
