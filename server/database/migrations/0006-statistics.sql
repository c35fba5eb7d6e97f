-- Numbers for statistics, each kept in the transaction of the change that it counts; the nightly repairs prove them.

-- Of a whole project, in slots like `list_counters`.
create table project_counters (
  project_id uuid not null,
  slot smallint not null,
  contacts bigint not null default 0,
  primary key (project_id, slot)
) with (fillfactor = 50);
insert into project_counters (project_id, slot, contacts) select project_id, 0, count(*) from contacts group by project_id;

-- What the days of UTC brought a list: how many became active, unsubscribed and bounced, and by how many the active ones grew. All days
-- together add up to `list_counters.active`. In the slots of `list_counters`, until the night makes one row of a day that is over.
create table list_days (
  project_id uuid not null,
  list_id uuid not null,
  day date not null,
  slot smallint not null,
  subscribed bigint not null default 0,
  unsubscribed bigint not null default 0,
  bounced bigint not null default 0,
  active bigint not null default 0,
  primary key (project_id, list_id, day, slot)
) with (fillfactor = 50);
create index list_days_in_slots on list_days (day) where slot <> 0;
-- From before: when people came and left. Nobody noted when somebody bounced, so these count as having come, and never as active.
insert into list_days (project_id, list_id, day, slot, subscribed, unsubscribed, active)
select s.project_id, s.list_id, (step.at at time zone 'UTC')::date, 0, sum(step.subscribed), sum(step.unsubscribed), sum(step.active)
from subscribers s cross join lateral (values
  (coalesce(s.subscribed_at, s.created_at), 1, 0, (s.status <> 'bounced')::integer),
  (case when s.status = 'unsubscribed' then coalesce(s.unsubscribed_at, s.subscribed_at, s.created_at) end, 0, 1, -1)
) as step (at, subscribed, unsubscribed, active)
where s.status <> 'pending' and step.at is not null
group by 1, 2, 3;

-- When a broadcast was taken, refused, opened, clicked and left by: hours at first, then days (delivery/broadcast/hours.ts). Written only by
-- whoever holds the broadcast's row. `delivered` counts those that were complained about later, too: they had arrived.
create table broadcast_hours (
  project_id uuid not null,
  broadcast_id uuid not null,
  hour timestamptz not null,
  list_id uuid not null,
  delivered bigint not null default 0,
  bounced bigint not null default 0,
  complained bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  unsubscribed bigint not null default 0,
  primary key (project_id, broadcast_id, hour)
) with (fillfactor = 50);
create index broadcast_hours_of_list on broadcast_hours (project_id, list_id, hour);
-- From before: all at the hour in which it began. The ledger knows better, and may have millions of rows.
insert into broadcast_hours (project_id, broadcast_id, hour, list_id, delivered, bounced, complained, opened, clicked)
select project_id, id, date_trunc('hour', created_at, 'UTC'), list_id, delivered + complained, bounced, complained, opened, clicked
from broadcasts where delivered + complained + bounced + opened + clicked > 0;
create index broadcasts_of_list on broadcasts (project_id, list_id, id);
-- The few that have booked more than they have sent so far.
create index broadcasts_booked on broadcasts (project_id) where reservation_id is not null;

-- Last, so that nobody waits for what is counted above.
alter table broadcast_links add column unique_clicks bigint not null default 0;
alter table broadcasts add column unsubscribed bigint not null default 0;
alter table deliveries
  -- Which links they have followed, each once: null for none.
  add column clicked_links smallint[],
  -- When they left the list by a link in this mail, or by answering it.
  add column unsubscribed_at timestamptz;
alter table contacts
  -- Like `past_opens`: how many of `total_replies` were in mailboxes that are emptied. Null for who was there before: counting their
  -- e-mails takes long, and the nightly repair does it.
  add column past_replies integer,
  alter column past_replies set default 0,
  -- Agents have no address to be known by. One agent is one contact of a project. Its index is made when nobody waits for this.
  add column agent_id uuid;
