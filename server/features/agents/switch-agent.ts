import type { ProjectId, UserId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { letMessagesGo, pauseAllBroadcasts } from '../../delivery/control.ts'
import { publish } from '../../events/publish.ts'
import { postEventData } from '../posts/post.ts'
import { postsOf, projectsOf, setDisabled } from './agent-queries.ts'

/** The agent's row is held: whoever begins to send in its name either is seen here, or sees the switch. */
export async function switchOff(tx: Transaction, user_id: UserId): Promise<void> {
  await setDisabled(tx, user_id, true)
  for (const { id } of await projectsOf(tx, user_id)) await pausePosts(tx, id)
}

/** What was scheduled, and single mail, goes on by itself. Posts that were on their way are looked at by somebody first. */
export async function switchOn(tx: Transaction, user_id: UserId): Promise<void> {
  await setDisabled(tx, user_id, false)
  for (const { id } of await projectsOf(tx, user_id)) await letMessagesGo(tx, id)
}

async function pausePosts(tx: Transaction, project_id: ProjectId): Promise<void> {
  const paused = await pauseAllBroadcasts(tx, project_id)
  for (const post of await postsOf(tx, project_id, paused)) await publish(tx, project_id, 'post.paused', postEventData(post))
}
