import { createHash } from 'node:crypto'
import { ApiError } from '../../base/errors.ts'
import type { ListId, PostId, ProjectId, UserId } from '../../base/ids.ts'
import { formatUuid, parseUuid } from '../../base/uuid.ts'
import { fieldsOf, type Preview, type TemplateField } from '../../mail/compile/index.ts'
import type { Services } from '../../operations/context.ts'
import { findList } from '../lists/index.ts'
import { frameOf, type Issue, postSourceOf, renderFor } from './post-frame.ts'
import { findPost, type PostKey } from './post-queries.ts'
import { someReader } from './reader.ts'

/** One person's say about one post that came by mail. */
interface ApprovalKey extends PostKey {
  user_id: UserId
}

export interface Approval extends Issue {
  key: ApprovalKey
}

const goodForMs = 14 * 86_400_000
const idBytes = 16

/** `project, list, post, person, until`: signed, so that it needs no row of its own, and ends by itself. */
export function approvalLink(
  { config, secrets }: Pick<Services, 'config' | 'secrets'>,
  { project_id, list_id, post_id, user_id }: ApprovalKey,
  now: Date,
): string {
  const until = Buffer.alloc(6)
  until.writeUIntBE(now.getTime() + goodForMs, 0, 6)
  const payload = Buffer.concat([...[project_id, list_id, post_id, user_id].map(parseUuid), until])
  return `${config.PUBLIC_URL}/approve/${secrets.sign('post_approval', payload)}`
}

/** Null when the link is forged, over, or the post or its list is gone. Whether the person may still decide, the operation sees. */
export async function findApproval(
  { database, secrets, clock }: Pick<Services, 'database' | 'secrets' | 'clock'>,
  token: string,
): Promise<Approval | null> {
  const payload = secrets.verify('post_approval', token)
  if (!payload || payload.length !== 4 * idBytes + 6 || payload.readUIntBE(4 * idBytes, 6) < clock.now().getTime()) return null
  const idAt = (place: number) => formatUuid(payload.subarray(place * idBytes, (place + 1) * idBytes))
  const key = { project_id: idAt(0) as ProjectId, list_id: idAt(1) as ListId, post_id: idAt(2) as PostId, user_id: idAt(3) as UserId }
  const [post, list] = await Promise.all([findPost(database, key), findList(database, key)])
  return post && list && { key, post, list }
}

/** A post in words alone: what the author's HTML does, it shall do in the mail only. */
export interface ShownPost {
  /** Of exactly what is shown, and would be sent. */
  digest: string
  from: { name: string | null; address: string }
  subject: string
  /** What most readers get: the words of the HTML part, with the addresses of links behind theirs. Null when it cannot be put together. */
  words: string | null
  /** The author's own text part, for who reads mail without HTML. Null when there is none beside the words. */
  text: string | null
  /** Why it cannot be put together. */
  problem: string | null
  hasPictures: boolean
  /** Readers get different things: no one of them shows it all. */
  hasTags: boolean
  /** Whole, as nothing can hide there. */
  written: [TemplateField, string][]
}

type Showing = Pick<Services, 'config' | 'clock' | 'compiler'>

/** What would be sent of it as it is now, for somebody of whom nothing is known. */
export async function showPost(services: Showing, issue: Issue): Promise<ShownPost> {
  const { post, list } = issue
  const written = fieldsOf(postSourceOf(post))
  const shown = {
    digest: issueDigest(services, issue),
    from: frameOf(services, issue, services.clock.now()).from,
    hasTags: written.some(([, text]) => /\{[{%]/.test(text)),
    written,
  }
  try {
    const mail = await renderOne(services, issue)
    if (mail.html === null || post.body_text === null)
      return { ...shown, subject: mail.subject, words: mail.text, text: null, problem: null, hasPictures: hasPictures(mail) }
    // What the compiler makes of the HTML when there is no other text.
    const { text: words } = await renderOne(services, { list, post: { ...post, body_text: null } })
    return { ...shown, subject: mail.subject, words, text: mail.text, problem: null, hasPictures: hasPictures(mail) }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'validation_error') throw error
    return { ...shown, subject: post.subject, words: null, text: null, problem: error.message, hasPictures: false }
  }
}

async function renderOne(services: Showing, issue: Issue): Promise<Preview> {
  const [preview] = await renderFor(services, issue, [someReader])
  return preview! // one reader, one preview
}

const hasPictures = ({ html }: Preview): boolean => /<img\b|url\(/i.test(html ?? '')

/** Of all that readers get but its date: what the author wrote, and what list and sender put around it. */
export function issueDigest(services: Pick<Services, 'config'>, issue: Issue): string {
  const { date: _, ...frame } = frameOf(services, issue, new Date(0))
  return createHash('sha256')
    .update(JSON.stringify([postSourceOf(issue.post), frame]))
    .digest('base64url')
}
