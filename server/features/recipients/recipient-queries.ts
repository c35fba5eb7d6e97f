import type { ProjectId } from '../../base/ids.ts'
import type { Queryable, Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { addingToHours, hourOf } from '../../delivery/control.ts'
import type { LateBounce } from './late-bounce.ts'
import type { RecipientKey, RecipientRow, RecipientStatus } from './recipient.ts'

/** Deleted or merged projects as well: their mail is still in people's inboxes. */
export const findProjectByTail = (db: Queryable, tail: Buffer) => db.first<{ id: ProjectId }>`
  select id from projects where substring(uuid_send(id) from 9) = ${tail}`

const columns = sql`
  d.project_id, d.id, d.broadcast_id, d.subscriber_id, d.contact_id, d.email, d.status, d.smtp_code, d.enhanced_code, d.reason,
  d.bounce_class, d.settled_at, b.list_id, b.post_id, l.mailbox_id, coalesce(b.source->'post'->>'subject', '') as subject,
  coalesce(b.source->'frame'->'from'->>'address', '') as from_address,
  coalesce(b.source->'frame'->>'message_id_domain', '') as message_id_domain`
const whatWasSent = sql`
  join broadcasts b on b.project_id = d.project_id and b.id = d.broadcast_id
  left join lists l on l.project_id = b.project_id and l.id = b.list_id and l.deleted_at is null`

export const findRecipient = (db: Queryable, { project_id, id }: RecipientKey) => db.first<RecipientRow>`
  select ${columns} from deliveries d ${whatWasSent} where d.project_id = ${project_id} and d.id = ${id}`

/**
 * Whether one that is not there may have been a copy of a broadcast whose ledger was pruned: the id tells when it was made (RFC 9562
 * section 5.7), and clocks differ.
 */
export async function mayBePruned(db: Queryable, { project_id, id }: RecipientKey): Promise<boolean> {
  const madeAt = new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16))
  const pruned = await db.first`
    select 1 from broadcasts b join lists l on l.project_id = b.project_id and l.id = b.list_id and l.deleted_at is null
    where b.project_id = ${project_id} and b.pruned_at is not null
      and ${madeAt}::timestamptz between b.created_at - interval '1 day' and b.finished_at + interval '1 day' limit 1`
  return pruned !== null
}

export const findRecipients = (db: Queryable, keys: RecipientKey[]) => db.many<RecipientRow>`
  select ${columns} from deliveries d ${whatWasSent} where (d.project_id, d.id) in (
    select * from unnest(${keys.map(({ project_id }) => project_id)}::uuid[], ${keys.map(({ id }) => id)}::uuid[]))`

/** Two reports about one message take turns. */
export const lockRecipient = (tx: Transaction, { project_id, id }: RecipientKey) => tx.first<RecipientRow>`
  select ${columns} from deliveries d ${whatWasSent} where d.project_id = ${project_id} and d.id = ${id} for update of d`

/** Where link `number` of their copy leads. */
export const findLink = (db: Queryable, { project_id, id }: RecipientKey, number: number) => db.first<{ url: string }>`
  select l.url from deliveries d join broadcast_links l on l.project_id = d.project_id and l.broadcast_id = d.broadcast_id
  where d.project_id = ${project_id} and d.id = ${id} and l.number = ${number}`

/** What came back is the last word: the engine, which may still be at it, finds nothing to settle. The yes of then is no answer any more. */
export const saveLateBounce = (tx: Transaction, { project_id, id }: RecipientKey, bounce: LateBounce) => tx.run`
  update deliveries set status = 'bounced', smtp_code = ${bounce.smtp_code}, enhanced_code = ${bounce.enhanced_code}, reason = ${bounce.reason},
    bounce_class = ${bounce.bounce_class}, lease_owner = null, settled_at = coalesce(settled_at, ${tx.now}), followed_at = ${tx.now}
  where project_id = ${project_id} and id = ${id}`

/** It did arrive: the other server's yes stands. */
export const saveLateComplaint = (tx: Transaction, { project_id, id }: RecipientKey, reason: string) => tx.run`
  update deliveries set status = 'complained', enhanced_code = null, reason = ${reason}, lease_owner = null,
    settled_at = coalesce(settled_at, ${tx.now}), followed_at = ${tx.now}
  where project_id = ${project_id} and id = ${id}`

const has = (status: RecipientStatus, ...wanted: RecipientStatus[]): number => Number(wanted.includes(status))

/** One fewer of what it was, one more of what it is. Call it late in the transaction: every settling batch needs the row. */
export function moveCount(
  tx: Transaction,
  { project_id, broadcast_id, settled_at }: RecipientRow,
  { from, to }: { from: RecipientStatus; to: 'bounced' | 'complained' },
): Promise<number> {
  const arrived = has(to, 'complained') - has(from, 'delivered', 'complained')
  return tx.run`
    with counted as (
      update broadcasts set
        delivered = delivered - ${has(from, 'delivered')}::integer,
        failed = failed - ${has(from, 'failed')}::integer,
        bounced = bounced + ${has(to, 'bounced')}::integer,
        complained = complained + ${has(to, 'complained')}::integer
      where project_id = ${project_id} and id = ${broadcast_id}
      returning project_id, id, list_id, created_at
    ) ${addingToHours(sql`
      select project_id, id, ${hourOf(sql`${settled_at ?? tx.now}::timestamptz`, sql`created_at`)}, list_id,
        ${arrived}::integer, ${has(to, 'bounced')}::integer, ${has(to, 'complained')}::integer, 0, 0, 0
      from counted`)}`
}

/** They left by this mail, whatever they do later: counted once. */
export const countUnsubscribed = (tx: Transaction, { project_id, id }: RecipientKey) => tx.run`
  with noted as (
    update deliveries set unsubscribed_at = ${tx.now} where project_id = ${project_id} and id = ${id} and unsubscribed_at is null
    returning broadcast_id
  ), counted as (
    update broadcasts b set unsubscribed = b.unsubscribed + 1 from noted where b.project_id = ${project_id} and b.id = noted.broadcast_id
    returning b.project_id, b.id, b.list_id, b.created_at
  ) ${addingToHours(sql`
    select project_id, id, ${hourOf(sql`${tx.now}::timestamptz`, sql`created_at`)}, list_id, 0, 0, 0, 0, 0, 1 from counted`)}`

/**
 * Settled as bounced by the engine, or given up while the mailbox was full, and not looked at since. By themselves first: the index that
 * holds nothing else is what keeps looking cheap.
 */
export const lockUnfollowed = (tx: Transaction, limit: number) => tx.many<RecipientRow>`
  with unfollowed as materialized (
    select * from deliveries
    where status in ('bounced', 'failed') and bounce_class is not null and (followed_at is null or followed_at < settled_at)
    order by settled_at limit ${limit} for update skip locked
  )
  select ${columns} from unfollowed d ${whatWasSent} order by d.settled_at, d.id`

export const markFollowed = (tx: Transaction, recipients: RecipientKey[]) => tx.run`
  update deliveries d set followed_at = greatest(${tx.now}::timestamptz, d.settled_at)
  from unnest(${recipients.map((one) => one.project_id)}::uuid[], ${recipients.map((one) => one.id)}::uuid[]) as followed (project_id, id)
  where d.project_id = followed.project_id and d.id = followed.id`
