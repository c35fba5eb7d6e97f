import type { DeliveryId, ProjectId } from '../../base/ids.ts'
import type { Transaction } from '../../database/database.ts'
import { sql } from '../../database/sql.ts'
import { addingToHours, hourOf } from '../../delivery/control.ts'
import type { Copy } from '../../events/publish-of-recipients.ts'

/** One look at a mail, or one link followed. */
export interface Engagement {
  project_id: ProjectId
  id: DeliveryId
  at: Date
  /** Which link was followed; null for an opened mail. */
  link: number | null
  isMachine: boolean
}

/** What a person did. */
export interface Deed extends Copy {
  /** Null for an opened mail. */
  url: string | null
}

/**
 * Writes a batch down in one statement: the ledger, the counts of broadcasts and their hours (people, each once) and of links, and when
 * subscriber and contact were last seen. Lists without tracking keep nothing, whoever fetches a pixel that was not in the mail. What comes
 * before two seconds have passed since the receiving server said yes, or before we knew that it did, is its scanner.
 *
 * Answers what people did in those projects where somebody reads events of it (`telling`), in the order in which they did it.
 */
export const saveEngagement = (tx: Transaction, batch: Engagement[], telling: ProjectId[]) => tx.many<Deed>`
  with seen as (
    select * from unnest(
      ${batch.map((one) => one.project_id)}::uuid[], ${batch.map((one) => one.id)}::uuid[], ${batch.map((one) => one.at)}::timestamptz[],
      ${batch.map((one) => one.link)}::smallint[], ${batch.map((one) => one.isMachine)}::boolean[]
    ) as seen (project_id, id, at, link, is_machine)
  ), held as (
    select d.project_id, d.id, d.broadcast_id, d.subscriber_id, d.contact_id, d.email, d.sent_at,
      coalesce(d.clicked_links, '{}') as clicked_links
    from deliveries d
    where (d.project_id, d.id) in (select project_id, id from seen) order by d.project_id, d.id for update
  ), tracked as materialized (
    select b.project_id, b.id, b.list_id, (b.source->'frame'->>'track_opens')::boolean as opens, (b.source->'frame'->>'track_clicks')::boolean as clicks
    from broadcasts b where (b.project_id, b.id) in (select project_id, broadcast_id from held)
  ), judged as (
    select h.*, t.list_id, s.at, s.link, not s.is_machine and coalesce(s.at >= h.sent_at + interval '2 seconds', false) as is_person
    from seen s
    join held h on h.project_id = s.project_id and h.id = s.id
    join tracked t on t.project_id = h.project_id and t.id = h.broadcast_id
    where case when s.link is null then t.opens else t.clicks end
  ), noted as (
    update deliveries d set opened_at = coalesce(d.opened_at, j.opened_at), clicked_at = coalesce(d.clicked_at, j.clicked_at),
      open_count = d.open_count + j.opens, click_count = d.click_count + j.clicks, machine_open_count = d.machine_open_count + j.machines,
      clicked_links = case when j.new_links is null then d.clicked_links else coalesce(d.clicked_links, '{}') || j.new_links end
    from (
      select project_id, id, min(at) filter (where is_person and link is null) as opened_at,
        min(at) filter (where is_person and link is not null) as clicked_at,
        count(*) filter (where is_person and link is null) as opens, count(*) filter (where is_person and link is not null) as clicks,
        count(*) filter (where not is_person) as machines,
        array_agg(distinct link) filter (where is_person and link is not null and link <> all(clicked_links)) as new_links
      from judged group by project_id, id
    ) j
    where d.project_id = j.project_id and d.id = j.id
    returning d.project_id, d.broadcast_id, d.opened_at, d.clicked_at,
      (j.opens > 0 and d.open_count = j.opens) as is_first_open, (j.clicks > 0 and d.click_count = j.clicks) as is_first_click
  ), of_broadcasts as (
    update broadcasts b set opened = b.opened + n.opened, clicked = b.clicked + n.clicked
    from (
      select project_id, broadcast_id, count(*) filter (where is_first_open) as opened, count(*) filter (where is_first_click) as clicked
      from noted where is_first_open or is_first_click group by project_id, broadcast_id
    ) n
    where b.project_id = n.project_id and b.id = n.broadcast_id
    returning b.project_id, b.id, b.list_id, b.created_at
  ), of_hours as (${addingToHours(sql`
    select b.project_id, b.id, ${hourOf(sql`first.at`, sql`b.created_at`)} as hour, b.list_id, 0, 0, 0, sum(first.opened), sum(first.clicked), 0
    from of_broadcasts b join (
      select project_id, broadcast_id, opened_at as at, 1 as opened, 0 as clicked from noted where is_first_open
      union all select project_id, broadcast_id, clicked_at, 0, 1 from noted where is_first_click
    ) first on first.project_id = b.project_id and first.broadcast_id = b.id
    group by b.project_id, b.id, hour, b.list_id`)}
  ), of_links as (
    update broadcast_links l set clicks = l.clicks + j.clicks, unique_clicks = l.unique_clicks + j.people
    from (
      select project_id, broadcast_id, link, count(*) as clicks, count(distinct id) filter (where link <> all(clicked_links)) as people
      from judged where is_person and link is not null
      group by project_id, broadcast_id, link
    ) j
    where l.project_id = j.project_id and l.broadcast_id = j.broadcast_id and l.number = j.link
  ), of_subscribers as (
    update subscribers s set last_open_at = greatest(s.last_open_at, j.opened_at), last_click_at = greatest(s.last_click_at, j.clicked_at)
    from (
      select project_id, list_id, subscriber_id, max(at) filter (where link is null) as opened_at, max(at) filter (where link is not null) as clicked_at
      from judged where is_person group by project_id, list_id, subscriber_id
    ) j
    where s.project_id = j.project_id and s.list_id = j.list_id and s.id = j.subscriber_id
  ), of_contacts as (
    update contacts c set total_opens = c.total_opens + j.opens, total_clicks = c.total_clicks + j.clicks,
      last_activity_at = greatest(c.last_activity_at, j.at)
    from (
      select project_id, contact_id, count(*) filter (where link is null) as opens, count(*) filter (where link is not null) as clicks, max(at) as at
      from judged where is_person group by project_id, contact_id
    ) j
    where c.project_id = j.project_id and c.id = j.contact_id
  )
  select j.project_id, j.id, j.broadcast_id, j.subscriber_id, j.contact_id, j.email, l.url
  from judged j left join broadcast_links l on l.project_id = j.project_id and l.broadcast_id = j.broadcast_id and l.number = j.link
  where j.is_person and j.project_id = any(${telling}::uuid[]) and (j.link is null or l.url is not null)
  order by j.at`
