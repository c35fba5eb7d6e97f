import { type BroadcastId, type ListId, newId, type PostId, type ProjectId } from '../base/ids.ts'
import { wake } from '../base/wake.ts'
import type { Queryable, Transaction } from '../database/database.ts'
import { nothing, sql } from '../database/sql.ts'
import type { CompiledParts } from '../mail/compile/index.ts'
import type { BroadcastKey, BroadcastSource } from './broadcast/broadcast.ts'
import { senderDomainOf } from './warm-up.ts'

export type { BroadcastSource } from './broadcast/broadcast.ts'
export { addingToHours, hourOf } from './broadcast/hours.ts'
export { contactValues } from './broadcast/merge-values.ts'
export { removeDeliveries } from './broadcast/retention.ts'
export { activateKey, addPendingKeys, type DomainKey, domainKeys, dropKeys, makeDomainKeys, restKey, restKeys } from './domain-keys.ts'
export { isSwitchedOff, letMessagesGo, pauseAllBroadcasts } from './switched-off.ts'
export { countedSingleMail, senderDomainOf, startWarmUp } from './warm-up.ts'

export interface NewBroadcast {
  project_id: ProjectId
  list_id: ListId
  post_id: PostId
  source: BroadcastSource
  /** Of that source. */
  compiled: CompiledParts
  /** Active subscribers at this moment; each is booked already. */
  recipients: number
  /** From `numberPress`, taken before they were counted. */
  activation: number
  reservation_id: string
}

/** Whoever becomes a subscriber from now on has a greater number: what is pressed now is not for them. No clock is asked. */
export async function numberPress(db: Queryable): Promise<number> {
  const pressed = await db.first<{ activation: number }>`select nextval('activations') as activation`
  return (pressed as { activation: number }).activation // a sequence always answers
}

/** Begins with the commit of the transaction: no network, no loop over people. The engine turns subscribers into deliveries. */
export async function startBroadcast(tx: Transaction, broadcast: NewBroadcast): Promise<BroadcastId> {
  const id = newId<'brd'>()
  const { project_id, list_id, post_id, source, compiled, recipients, activation, reservation_id } = broadcast
  await tx.run`
    insert into broadcasts (project_id, id, list_id, post_id, source, compiled, from_domain, uses_contact, recipients, activation, reservation_id, booked, created_at)
    values (${project_id}, ${id}, ${list_id}, ${post_id}, ${JSON.stringify(source)}, ${JSON.stringify(compiled)},
      ${senderDomainOf(source.frame.from.address)}, ${compiled.uses_contact}, ${recipients}, ${activation}, ${reservation_id}, ${recipients}, ${tx.now})`
  await insertLinks(tx, { project_id, id }, compiled.links)
  tx.afterCommit(() => wake('broadcasts'))
  return id
}

const insertLinks = (tx: Transaction, { project_id, id }: BroadcastKey, links: string[]) => tx.run`
  insert into broadcast_links (project_id, broadcast_id, number, url)
  select ${project_id}, ${id}, (number - 1)::smallint, url from unnest(${links}::text[]) with ordinality as links (url, number)`

interface Which {
  project_id: ProjectId
  post_id: PostId
}

/** What is on the wire already goes out; nothing more is claimed. False when there is nothing to pause. */
export async function pauseBroadcast(tx: Transaction, { project_id, post_id }: Which, reason: string | null): Promise<boolean> {
  const paused = await tx.run`
    update broadcasts set status = 'paused', reason = ${reason}
    where project_id = ${project_id} and post_id = ${post_id} and status = 'sending'`
  tx.afterCommit(() => wake('broadcasts'))
  return paused > 0
}

/** Whoever resumes has seen what there was to see: the breaker counts from here on. */
export async function resumeBroadcast(tx: Transaction, { project_id, post_id }: Which): Promise<boolean> {
  const resumed = await tx.run`
    update broadcasts set status = 'sending', reason = null, tripped = null, owner_told_at = null,
      forgiven_settled = delivered + bounced + failed + complained, forgiven_bounced = bounced, forgiven_complained = complained
    where project_id = ${project_id} and post_id = ${post_id} and status = 'paused'`
  tx.afterCommit(() => wake('broadcasts'))
  return resumed > 0
}

/** Whoever has it keeps it; nobody else gets it. The engine closes what is left. */
export async function abortBroadcast(tx: Transaction, { project_id, post_id }: Which): Promise<boolean> {
  const aborted = await tx.run`
    update broadcasts set status = 'aborted', reason = 'aborted'
    where project_id = ${project_id} and post_id = ${post_id} and status in ('sending', 'paused')`
  tx.afterCommit(() => wake('broadcasts'))
  return aborted > 0
}

interface FromDomain {
  project_id: ProjectId
  domain: string
}

/** All that go out from a domain. Answers their posts. */
export async function pauseBroadcastsFrom(tx: Transaction, { project_id, domain }: FromDomain, reason: string): Promise<PostId[]> {
  const paused = await tx.many<{ post_id: PostId }>`
    update broadcasts set status = 'paused', reason = ${reason}
    where project_id = ${project_id} and from_domain = ${domain} and status = 'sending' returning post_id`
  return paused.map(({ post_id }) => post_id)
}

/** Those that were paused for that reason, and for no other since. */
export async function resumeBroadcastsFrom(tx: Transaction, { project_id, domain }: FromDomain, reason: string): Promise<PostId[]> {
  const resumed = await tx.many<{ post_id: PostId }>`
    update broadcasts set status = 'sending', reason = null
    where project_id = ${project_id} and from_domain = ${domain} and status = 'paused' and reason = ${reason} and tripped is null returning post_id`
  tx.afterCommit(() => wake('broadcasts'))
  return resumed.map(({ post_id }) => post_id)
}

/** Of a list, or of all lists of a project, that are being deleted: from the commit on nothing more of it is claimed. */
export async function abortBroadcasts(
  tx: Transaction,
  { project_id, list_id }: { project_id: ProjectId; list_id?: ListId },
  reason: string,
): Promise<void> {
  await tx.run`
    update broadcasts set status = 'aborted', reason = ${reason}
    where project_id = ${project_id} ${list_id === undefined ? nothing : sql`and list_id = ${list_id}`} and status in ('sending', 'paused')`
  tx.afterCommit(() => wake('broadcasts'))
}

interface Retry extends Which {
  reservation_id: string
  /** So many are booked. */
  booked: number
  /** So many are tried again at most. */
  count: number
}

/**
 * The broadcast of a post that is done goes on with what was given up. The engine queues that again, a chunk at a time, for those who are
 * still subscribed: a million rows changed at once would hold up whoever sends, and a request. False when there is nothing to go on with, or
 * when what the last round has not used is not given back yet.
 */
export async function retryFailed(tx: Transaction, { project_id, post_id, reservation_id, booked, count }: Retry): Promise<boolean> {
  const resumed = await tx.run`
    update broadcasts set status = 'sending', finished_at = null, is_expanded = false, expanded_to = null, retried = ${count}, retry_left = ${count},
      booked = booked + ${booked}, reservation_id = ${reservation_id},
      forgiven_settled = delivered + bounced + failed + complained, forgiven_bounced = bounced, forgiven_complained = complained
    where project_id = ${project_id} and id = (
      select id from broadcasts where project_id = ${project_id} and post_id = ${post_id} and status = 'done' and pruned_at is null order by id desc limit 1 for update)
      and reservation_id is null`
  tx.afterCommit(() => wake('broadcasts'))
  return resumed > 0
}
