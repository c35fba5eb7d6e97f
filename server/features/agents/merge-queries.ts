import type { ContactId, Id, ListId, ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { type Fragment, sql } from '../../database/sql.ts'
import type { ContactGroupRow } from '../contact-groups/contact-group.ts'
import { changeContactCount } from '../contacts/index.ts'
import type { MailboxRow } from '../mailboxes/index.ts'

/** From the agent's project into the human's. */
export interface Move {
  from: ProjectId
  to: ProjectId
}

/** Those that are deleted go along, so that what they held is erased where it went; they are not answered. Their addresses are kept for the human then. */
export const moveMailboxes = (tx: Transaction, { from, to }: Move) => tx.many<MailboxRow>`
  with moved as (update mailboxes set project_id = ${to} where project_id = ${from} returning *),
  kept as (update retired_addresses set kept_for = ${to} where kept_for = ${from})
  select * from moved where deleted_at is null`

/** A deleted list stays: the job that purges it knows it by its project. */
export const moveLists = (tx: Transaction, { from, to }: Move) => tx.many<{ id: ListId }>`
  update lists set project_id = ${to} where project_id = ${from} and deleted_at is null returning id`

const moveWithLists = (tx: Transaction, { from, to }: Move, table: Fragment) => tx.run`
  update ${table} set project_id = ${to}
  where project_id = ${from} and list_id in (select id from lists where project_id = ${to})`

const thingsOfLists = [
  sql`subscribers`,
  sql`waitlist_lines`,
  sql`waitlist_entries`,
  sql`waitlist_buckets`,
  sql`waitlist_referrals`,
  sql`list_counters`,
  sql`list_days`,
  sql`list_activity`,
  sql`list_activity_hours`,
  sql`site_domains`,
  sql`site_hosts`,
]

/** What belongs to a list goes where the list went. Their keys begin with the list's, so nothing can clash. */
export async function moveListThings(tx: Transaction, move: Move): Promise<void> {
  for (const table of thingsOfLists) await moveWithLists(tx, move, table)
}

/**
 * What is sent to a list goes with it, also in mid-flight: people, ledger and counts must stay together, or nobody would be found to send
 * to. Held before anything else that a sender writes, so that nobody turns people into deliveries while these move.
 */
export async function movePosts(tx: Transaction, move: Move): Promise<void> {
  for (const table of [sql`posts`, sql`broadcasts`, sql`broadcast_hours`]) await moveWithLists(tx, move, table)
}

/** Whoever is handing one of these over finds it by its lease, wherever it is. */
export async function moveDeliveries(tx: Transaction, { from, to }: Move): Promise<void> {
  await tx.run`
    update deliveries set project_id = ${to}
    where project_id = ${from} and broadcast_id in (select id from broadcasts where project_id = ${to})`
  await tx.run`
    update broadcast_links set project_id = ${to}
    where project_id = ${from} and broadcast_id in (select id from broadcasts where project_id = ${to})`
}

/**
 * One person is one contact: where the human knows them already, the two are joined. What the human wrote counts; the agent's words fill
 * the gaps, as far as a contact may grow. Who is known to both is asked once: one whom the human adds meanwhile clashes at the end, and
 * the merge begins anew.
 */
export async function joinContacts(tx: Transaction, { from, to }: Move): Promise<void> {
  const known = [...(await findKnown(tx, { from, to }, sql`email_key`)), ...(await findKnown(tx, { from, to }, sql`agent_id`))]
  const pairs = sql`unnest(${known.map(({ mine }) => mine)}::uuid[], ${known.map(({ theirs }) => theirs)}::uuid[]) as pair (mine, theirs)`
  await tx.run`
    update contacts mine set
      name = coalesce(mine.name, theirs.name), notes = coalesce(mine.notes, theirs.notes), org = coalesce(mine.org, theirs.org),
      job_title = coalesce(mine.job_title, theirs.job_title), country = coalesce(mine.country, theirs.country),
      city = coalesce(mine.city, theirs.city), timezone = coalesce(mine.timezone, theirs.timezone),
      labels = (mine.labels || array(select label from unnest(theirs.labels) as label where label <> all(mine.labels)))[1:200],
      metadata = case when octet_length((theirs.metadata || mine.metadata)::text) <= 65536 then theirs.metadata || mine.metadata else mine.metadata end,
      total_received = mine.total_received + theirs.total_received, total_opens = mine.total_opens + theirs.total_opens,
      total_clicks = mine.total_clicks + theirs.total_clicks, total_replies = mine.total_replies + theirs.total_replies,
      past_opens = mine.past_opens + theirs.past_opens, past_clicks = mine.past_clicks + theirs.past_clicks,
      past_replies = mine.past_replies + theirs.past_replies,
      last_activity_at = greatest(mine.last_activity_at, theirs.last_activity_at),
      soft_bounced_on = array(select distinct day from unnest(mine.soft_bounced_on || theirs.soft_bounced_on) as day order by day),
      updated_at = ${tx.now}
    from ${pairs} join contacts theirs on theirs.project_id = ${from} and theirs.id = pair.theirs
    where mine.project_id = ${to} and mine.id = pair.mine`
  await tx.run`
    update subscribers s set contact_id = pair.mine from ${pairs} where s.project_id = ${from} and s.contact_id = pair.theirs`
  await tx.run`
    update deliveries d set contact_id = pair.mine from ${pairs} where d.project_id = ${from} and d.contact_id = pair.theirs`
  await tx.run`update emails e set contact_id = pair.mine from ${pairs} where e.project_id = ${from} and e.contact_id = pair.theirs`
  await tx.run`
    update contact_group_members m set contact_id = pair.mine from ${pairs} where m.project_id = ${from} and m.contact_id = pair.theirs`
  await tx.run`
    with gone as (delete from former_addresses where project_id = ${from} returning *)
    insert into former_addresses as mine (project_id, email_key, contact_id, email, left_at)
    select ${to}, gone.email_key, coalesce(pair.mine, gone.contact_id), gone.email, gone.left_at from gone left join ${pairs} on pair.theirs = gone.contact_id
    on conflict (project_id, email_key) do update set contact_id = excluded.contact_id, email = excluded.email, left_at = excluded.left_at
    where mine.left_at < excluded.left_at`
  await tx.run`delete from contacts c using ${pairs} where c.project_id = ${from} and c.id = pair.theirs`
  const moved = await tx.run`update contacts set project_id = ${to} where project_id = ${from}`
  await tx.run`delete from project_counters where project_id = ${from}`
  if (moved > 0) await changeContactCount(tx, to, moved)
}

/** People are known by their address; an agent has none, and is known by what it is. No contact has both. */
const findKnown = (tx: Transaction, { from, to }: Move, by: Fragment) => tx.many<{ mine: ContactId; theirs: ContactId }>`
  select mine.id as mine, theirs.id as theirs from contacts theirs join contacts mine on mine.${by} = theirs.${by}
  where theirs.project_id = ${from} and mine.project_id = ${to} for update`

/** After their contacts. Two groups of one name become one; the others move. Answers those that grew or arrived, in a fixed order. */
export async function joinContactGroups(tx: Transaction, { from, to }: Move) {
  const theirs = await tx.many<{ id: Id<'grp'>; mine: Id<'grp'> | null }>`
    select theirs.id, mine.id as mine
    from contact_groups theirs left join contact_groups mine on mine.project_id = ${to} and lower(mine.name) = lower(theirs.name)
    where theirs.project_id = ${from} order by theirs.id`
  for (const { id, mine } of theirs) {
    await tx.run`
      with gone as (delete from contact_group_members where project_id = ${from} and group_id = ${id} returning contact_id, added_at)
      insert into contact_group_members (project_id, group_id, contact_id, added_at) select ${to}, ${mine ?? id}, contact_id, added_at from gone
      on conflict do nothing`
    if (mine) await tx.run`delete from contact_groups where project_id = ${from} and id = ${id}`
    else await tx.run`update contact_groups set project_id = ${to} where project_id = ${from} and id = ${id}`
  }
  const joined = await tx.many<ContactGroupRow>`
    update contact_groups g set contact_count = (select count(*) from contact_group_members m where m.project_id = g.project_id and m.group_id = g.id)
    where project_id = ${to} and id = any(${theirs.map(({ id, mine }) => mine ?? id)}::uuid[])
    returning *`
  const groups = new Map(joined.map((group) => [group.id, group]))
  return theirs.map(({ id, mine }) => ({ group: groups.get(mine ?? id) as ContactGroupRow, is_new: mine === null })) // each was joined
}

/**
 * Mail that is being handed over at this moment stays, so that whoever sends it finds it to settle; `move-rest.ts` comes back for it.
 */
export async function moveMail(tx: Transaction, { from, to }: Move): Promise<void> {
  await tx.run`
    update messages set project_id = ${to}
    where project_id = ${from} and status <> 'sending' and (list_id is null or list_id in (select id from lists where project_id = ${to}))`
  await tx.run`update emails set project_id = ${to} where project_id = ${from} and status <> 'sending'`
  await tx.run`update inbound_spool set project_id = ${to} where project_id = ${from}`
  await tx.run`update calendar_events set project_id = ${to} where project_id = ${from}`
  await tx.run`update proxy_addresses set project_id = ${to} where project_id = ${from}`
  await tx.run`update erasures set project_id = ${to} where project_id = ${from}`
  await tx.run`
    update idempotency_keys k set project_id = ${to}
    where project_id = ${from} and lease_until is null
      and not exists (select 1 from idempotency_keys mine where mine.project_id = ${to} and mine.key = k.key)`
}

/** What the agent has sent counts for the human: a claim is no way to a second allowance. */
export async function joinUsage(tx: Transaction, { from, to }: Move): Promise<void> {
  await tx.run`
    insert into usage_periods as mine (project_id, period_start, used, overage, paid, paid_used, invoice_id, billed_at, owner_id)
    select ${to}, period_start, used, overage, paid, paid_used, invoice_id, billed_at, (select owner_id from projects where id = ${to})
    from usage_periods where project_id = ${from}
    on conflict (project_id, period_start) do update set
      used = mine.used + excluded.used, overage = mine.overage + excluded.overage, paid = mine.paid + excluded.paid,
      paid_used = mine.paid_used + excluded.paid_used`
  await tx.run`delete from usage_periods where project_id = ${from}`
  await tx.run`update usage_reservations set project_id = ${to} where project_id = ${from}`
  await tx.run`update payment_challenges set project_id = ${to} where project_id = ${from}`
}
