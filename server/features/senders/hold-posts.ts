import type { ListId, PostId, ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { pauseBroadcastsFrom, resumeBroadcastsFrom } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import { findPost, postEventData } from '../posts/index.ts'
import { type DomainKeyParts, findPostKeys } from './sender-queries.ts'

const reasonFor = (domain: string): string =>
  `Paused by itself: the DNS records of ${domain} are gone, and receivers would take this post for forged. It goes on by itself when they are back.`

/** What is on its way from a domain that is lost waits. */
export async function holdPosts(tx: Transaction, key: DomainKeyParts): Promise<void> {
  await tell(tx, key.project_id, 'post.paused', await pauseBroadcastsFrom(tx, key, reasonFor(key.domain)))
}

/** Those that wait for nothing else. */
export async function letPostsGo(tx: Transaction, key: DomainKeyParts): Promise<void> {
  await tell(tx, key.project_id, 'post.resumed', await resumeBroadcastsFrom(tx, key, reasonFor(key.domain)))
}

async function tell(tx: Transaction, project_id: ProjectId, event: 'post.paused' | 'post.resumed', post_ids: PostId[]): Promise<void> {
  if (post_ids.length === 0) return
  for (const { list_id, post_id } of await findPostKeys(tx, project_id, post_ids)) {
    const post = await findPost(tx, { project_id, list_id: list_id as ListId, post_id })
    if (post) await publish(tx, project_id, event, postEventData(post))
  }
}
