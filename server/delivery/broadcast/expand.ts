import { type ContactId, newId, type SubscriberId } from '../../base/ids.ts'
import type { Database, Transaction } from '../../database/database.ts'
import type { BroadcastRow } from './broadcast.ts'

/**
 * Turns subscribers into deliveries, a chunk at a time by key: those who were active when send was pressed and still are. Killed in
 * between, the next chunk begins where the last one was committed; the unique key on (broadcast, subscriber) makes a second row for
 * one person impossible.
 */
const chunk = 5_000

interface Recipient {
  id: SubscriberId
  contact_id: ContactId
  email: string
  name: string | null
}

/** One chunk of the oldest broadcast that has people left. True when there may be more. */
export const expandOne = (database: Database): Promise<boolean> =>
  database.transaction(async (tx) => {
    const broadcast = await tx.first<BroadcastRow>`
      select * from broadcasts where status = 'sending' and not is_expanded order by created_at limit 1 for update skip locked`
    if (!broadcast) return false
    const people = await nextPeople(tx, broadcast)
    await insertDeliveries(tx, broadcast, people)
    const last = people.at(-1)?.id ?? broadcast.expanded_to
    await tx.run`
      update broadcasts set expanded_to = ${last}, is_expanded = ${people.length < chunk}
      where project_id = ${broadcast.project_id} and id = ${broadcast.id}`
    return true
  })

/** Who joined after the press has a later subscribed_at; who has left since is not active any more. */
const nextPeople = (tx: Transaction, { project_id, list_id, snapshot_at, expanded_to }: BroadcastRow) => tx.many<Recipient>`
  select id, contact_id, email, name from subscribers
  where project_id = ${project_id} and list_id = ${list_id} and status = 'active' and subscribed_at <= ${snapshot_at} and email is not null
    and id > ${expanded_to ?? '00000000-0000-0000-0000-000000000000'}
  order by id limit ${chunk}`

const insertDeliveries = (tx: Transaction, { project_id, id }: BroadcastRow, people: Recipient[]) => tx.run`
  insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, name, next_attempt_at)
  select ${project_id}, delivery_id, ${id}, subscriber_id, contact_id, email, name, ${tx.now}
  from unnest(${people.map(() => newId<'dlv'>())}::uuid[], ${people.map((one) => one.id)}::uuid[], ${people.map((one) => one.contact_id)}::uuid[],
    ${people.map((one) => one.email)}::text[], ${people.map((one) => one.name)}::text[]) as people (delivery_id, subscriber_id, contact_id, email, name)
  on conflict do nothing`
