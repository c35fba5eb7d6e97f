import { ApiError } from '../../base/errors.ts'
import { formatId, newId } from '../../base/ids.ts'
import { type Loop, startLoop } from '../../base/loop.ts'
import type { Transaction } from '../../database/database.ts'
import { publish } from '../../events/publish.ts'
import { leaveAuditRow } from '../../operations/audit.ts'
import type { Services } from '../../operations/context.ts'
import { notifyOwner } from '../identity/index.ts'
import { holdList, holdSender } from '../lists/index.ts'
import { reserveEmails } from '../usage/index.ts'
import { beginSending, findSendable } from './begin-sending.ts'
import { DueTurns } from './due-turns.ts'
import { type PostRow, postEventData } from './post.ts'
import { type CompiledIssue, compileIssue } from './post-frame.ts'
import { findPost, type PostKey, pageDuePosts, saveState, tryLockPost } from './post-queries.ts'

const lookEveryMs = 1_000
/** Some posts take seconds to put together: they hold up one of these. */
const atOnce = 4

/** Sends scheduled posts at their time. What came due while nothing was running is sent as soon as something is. */
export function startDuePosts(services: Services): Loop {
  const turns = new DueTurns()
  return startLoop({ name: 'due posts', log: services.log, everyMs: lookEveryMs, step: () => sendDuePosts(services, turns) })
}

/** One round: a post of each project. True when there may be more. */
export async function sendDuePosts(services: Services, turns = new DueTurns()): Promise<boolean> {
  const { database, clock, log } = services
  const due = await pageDuePosts(database, turns.begin(clock.now()))
  const mayBeMore = turns.note(due, clock.now())
  const waiting = due.values()
  const sendSome = async () => {
    for (const key of waiting) {
      // One that fails for a reason that nobody thought of holds up no other, and is tried again.
      const isSettled = await sendDuePost(services, key).catch((error: unknown) => {
        log.warn({ post_id: formatId('post', key.post_id), reason: (error as Error).message }, 'a scheduled post could not be sent yet')
        return false
      })
      if (isSettled) turns.settle(key)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sendSome))
  return mayBeMore
}

/** With the rights of the project: nobody is asking. False when somebody else is at it. */
async function sendDuePost(services: Services, key: PostKey): Promise<boolean> {
  const compiled = await compileDue(services, key)
  return services.database.transaction(async (tx) => {
    if (!(await holdList(tx, key))) return true
    if (!(await tryLockPost(tx, key))) return false
    const post = await findPost(tx, key)
    // Cancelled, moved or sent by hand in the moment between.
    if (post?.status !== 'scheduled' || post.scheduled_at === null || post.scheduled_at > tx.now) return true
    const problem = typeof compiled === 'string' ? compiled : await begin(services, tx, { ...key, compiled })
    if (problem !== null) await returnToDraft(services, tx, { post, problem })
    const target = { listId: formatId('lst', key.list_id), postId: formatId('post', key.post_id) }
    await leaveAuditRow(tx, { project_id: key.project_id, operation: 'posts.send', caller: null, target, request_id: 'posts.due' })
    return true
  })
}

/** What stands in the way, in words, where something does. */
const compileDue = async (services: Services, key: PostKey): Promise<CompiledIssue | string> => {
  try {
    return await compileIssue(services, await findSendable(services.database, key, services.clock.now()))
  } catch (error) {
    return asProblem(error)
  }
}

/** Null when it is on its way, else what stands in the way, in words. */
async function begin(services: Services, tx: Transaction, due: PostKey & { compiled: CompiledIssue }): Promise<string | null> {
  const { compiled, ...key } = due
  await holdSender(tx, key)
  const sendable = await findSendable(tx, key, tx.now).catch(asProblem)
  if (typeof sendable === 'string') return sendable
  const { project_id } = key
  const reserved = await reserveEmails(services, tx, { project_id, mailbox_id: null, reservation_id: newId(), count: sendable.recipients })
  if (reserved.outcome !== 'reserved') {
    const why = reserved.outcome === 'limit_exceeded' ? 'The plan has no room left for this month' : 'The monthly cap on overage is reached'
    return `${why}: ${reserved.excess} of ${sendable.recipients} e-mails did not fit.`
  }
  await beginSending(services, tx, { ...sendable, compiled, reservation_id: reserved.reservation_id })
  return null
}

function asProblem(error: unknown): string {
  if (error instanceof ApiError && error.code === 'validation_error') return error.message
  throw error
}

/** The owner learns of it by mail: nobody is there to read an error. An agent's human counts as its owner. */
async function returnToDraft(services: Services, tx: Transaction, { post, problem }: { post: PostRow; problem: string }): Promise<void> {
  const draft: PostRow = { ...post, status: 'draft', scheduled_at: null }
  await saveState(tx, draft)
  await publish(tx, post.project_id, 'post.updated', postEventData(draft))
  await notifyOwner(services, tx, {
    project_id: post.project_id,
    kind: 'post_not_sent',
    pace: 'once',
    subject: 'A scheduled post was not sent',
    parts: [
      `“${post.subject}” was due at ${post.scheduled_at?.toISOString()}, and nobody got it.`,
      problem,
      'It is a draft again, with nothing lost. Send it, or schedule it anew, once that is mended.',
    ],
  })
}
