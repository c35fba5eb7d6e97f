import { type BroadcastId, type ContactId, type DeliveryId, newId, type SubscriberId } from '../../base/ids.ts'
import type { Database, Transaction } from '../../database/database.ts'
import type { BroadcastRow } from './broadcast.ts'

/**
 * Turns subscribers into deliveries, a chunk at a time by key: those who were active when send was pressed and still are. Killed in
 * between, the next chunk begins where the last one was committed; the unique key on (broadcast, subscriber) makes a second row for
 * one person impossible.
 */
const chunk = 5_000
/** The first is small, so that the first messages leave at once. */
const firstChunk = 500
const beforeAll = '00000000-0000-0000-0000-000000000000'

interface Recipient {
  id: SubscriberId
  contact_id: ContactId
  email: string
  name: string | null
}

/**
 * One chunk of a broadcast that has people left, or failures to try again: of the next one behind `after`, so that a small one does not wait
 * for the end of a large one. Answers which it was; null when there is none.
 */
export const expandOne = (database: Database, after: BroadcastId | null = null): Promise<BroadcastId | null> =>
  database.transaction(async (tx) => {
    const broadcast = await tx.first<BroadcastRow>`
      select * from broadcasts where status = 'sending' and not is_expanded
      order by id <= ${after ?? beforeAll}, id limit 1 for update skip locked`
    if (!broadcast) return null
    await (broadcast.retry_left > 0 ? queueAgain(tx, broadcast) : addPeople(tx, broadcast))
    return broadcast.id
  })

async function addPeople(tx: Transaction, broadcast: BroadcastRow): Promise<void> {
  const limit = broadcast.expanded_to === null ? firstChunk : chunk
  const people = await nextPeople(tx, broadcast, limit)
  const added = await insertDeliveries(tx, broadcast, people)
  const last = people.at(-1)?.id ?? broadcast.expanded_to
  // Whose joining was under way in the moment of the press was not counted then, and is one of them.
  await tx.run`
    update broadcasts set expanded_to = ${last}, expanded = expanded + ${added}, is_expanded = ${people.length < limit},
      recipients = greatest(recipients, expanded + ${added})
    where project_id = ${broadcast.project_id} and id = ${broadcast.id}`
}

/** Who joined after the press has a greater number, by no clock; who has left since is not active any more; who pauses is passed over. */
const nextPeople = (
  tx: Transaction,
  { project_id, list_id, activation, expanded_to, created_at }: BroadcastRow,
  limit: number,
) => tx.many<Recipient>`
  select id, contact_id, email, name from subscribers
  where project_id = ${project_id} and list_id = ${list_id} and status = 'active' and activation < ${activation} and email is not null
    and (paused_until is null or paused_until <= ${created_at}) and id > ${expanded_to ?? beforeAll}
  order by id limit ${limit}`

const insertDeliveries = (tx: Transaction, { project_id, id }: BroadcastRow, people: Recipient[]) => tx.run`
  insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, name, next_attempt_at)
  select ${project_id}, delivery_id, ${id}, subscriber_id, contact_id, email, name, least(now(), ${tx.now}::timestamptz)
  from unnest(${people.map(() => newId<'dlv'>())}::uuid[], ${people.map((one) => one.id)}::uuid[], ${people.map((one) => one.contact_id)}::uuid[],
    ${people.map((one) => one.email)}::text[], ${people.map((one) => one.name)}::text[]) as people (delivery_id, subscriber_id, contact_id, email, name)
  on conflict do nothing`

interface Failed {
  id: DeliveryId
  subscriber_id: SubscriberId
  is_wanted: boolean
}

/** What fails once more meanwhile lies behind: each is queued again once. Who has left since, or pauses, stays as they are. */
async function queueAgain(tx: Transaction, broadcast: BroadcastRow): Promise<void> {
  const { project_id, id, retry_left } = broadcast
  const page = await nextFailed(tx, broadcast)
  const again = page.filter(({ is_wanted }) => is_wanted).slice(0, retry_left)
  const isLast = page.length < chunk || again.length === retry_left
  await tx.run`
    update deliveries set status = 'queued', attempts = 0, bounce_class = null, next_attempt_at = least(now(), ${tx.now}::timestamptz), settled_at = null
    where project_id = ${project_id} and id = any(${again.map((one) => one.id)}::uuid[])`
  await tx.run`
    update broadcasts set failed = failed - ${again.length}, forgiven_settled = forgiven_settled - ${again.length}, is_expanded = ${isLast},
      expanded_to = ${page.at(-1)?.subscriber_id ?? broadcast.expanded_to}, retry_left = ${isLast ? 0 : retry_left - again.length}
    where project_id = ${project_id} and id = ${id}`
}

/** Each looked up by its whole key: a join would be planned by statistics that a list which was imported a minute ago does not have. */
const nextFailed = (tx: Transaction, { project_id, list_id, id, expanded_to }: BroadcastRow) => tx.many<Failed>`
  select d.id, d.subscriber_id, coalesce((
    select s.status = 'active' and (s.paused_until is null or s.paused_until <= ${tx.now})
    from subscribers s where s.project_id = ${project_id} and s.list_id = ${list_id} and s.id = d.subscriber_id), false) as is_wanted
  from deliveries d
  where d.project_id = ${project_id} and d.broadcast_id = ${id} and d.status = 'failed' and d.subscriber_id > ${expanded_to ?? beforeAll}
  order by d.subscriber_id limit ${chunk}`
