import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import type { Services } from '../../operations/context.ts'
import { findPostHeads, type PostKey, postEventData } from '../posts/index.ts'
import { dayOf, hashOf, saltOf } from './record-views.ts'

interface Liking extends PostKey {
  /** Where it comes from, and with which browser: kept as hashes, for this day. */
  peer: string
  agent: string
}

/** From one network address on one day: an office or a family is fine, a script that changes its name is not. */
const maxFromOnePlace = 20

/** Once for each visitor and day; false when it counts no more. The post is one that everybody can read. */
export async function likePost({ database, clock }: Pick<Services, 'database' | 'clock'>, liking: Liking): Promise<boolean> {
  const day = dayOf(clock.now())
  const salt = await saltOf(database, day)
  const { peer, agent, ...post } = liking
  const hashes = { day, peer: hashOf(salt, peer), visitor: hashOf(salt, `${peer} ${agent}`) }
  return database.transaction(async (tx) => {
    if ((await insertLike(tx, post, hashes)) === 0) return false
    await tx.run`
      update posts set likes = likes + 1 where project_id = ${post.project_id} and list_id = ${post.list_id} and id = ${post.post_id}`
    for (const head of await findPostHeads(tx, [post])) await publish(tx, post.project_id, 'post.liked', postEventData(head))
    return true
  })
}

interface Hashes {
  day: string
  peer: Buffer
  visitor: Buffer
}

/** 0 when they did so before, or so did many from there. The post is held: a like of one that is being removed counts for nothing. */
const insertLike = (tx: Transaction, { project_id, list_id, post_id }: PostKey, { day, peer, visitor }: Hashes) => tx.run`
  insert into post_likes (project_id, list_id, post_id, day, visitor, peer)
  select p.project_id, p.list_id, p.id, ${day}::date, ${visitor}::bytea, ${peer}::bytea
  from (select * from posts where project_id = ${project_id} and list_id = ${list_id} and id = ${post_id} for update) p
  where (
    select count(*) from post_likes k
    where k.project_id = ${project_id} and k.list_id = ${list_id} and k.post_id = ${post_id} and k.day = ${day}::date and k.peer = ${peer}
  ) < ${maxFromOnePlace}
  on conflict do nothing`
