import type { ListId, PostId, ProjectId, UserId } from '../../base/ids.ts'
import { formatUuid, parseUuid } from '../../base/uuid.ts'
import { textOfHtml } from '../../mail/reports/html-text.ts'
import type { Services } from '../../operations/context.ts'
import { findList, type ListRow } from '../lists/index.ts'
import type { PostRow } from './post.ts'
import { findPost, type PostKey } from './post-queries.ts'

/** One person's say about one post that came by mail. */
interface ApprovalKey extends PostKey {
  user_id: UserId
}

export interface Approval {
  key: ApprovalKey
  post: PostRow
  list: ListRow
  /** How it begins, in words alone: what the author's HTML does, it shall do in the mail only. */
  excerpt: string
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
  return post && list && { key, post, list, excerpt: excerptOf(post) }
}

const excerptLetters = 2_000

function excerptOf({ body_text, body_html }: PostRow): string {
  const words = (body_text ?? textOfHtml((body_html ?? '').slice(0, 50 * excerptLetters))).trim()
  return words.length > excerptLetters ? `${words.slice(0, excerptLetters)} …` : words
}
