-- Endpoints that are told of events.
create table webhooks (
  project_id uuid not null references projects,
  id uuid not null,
  url text not null,
  events text[] not null,
  status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
  -- Sealed (base/secrets.ts): signing needs the secret itself. The one before also signs until `previous_until`.
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  -- Events in a row whose attempts were used up; ten disable the webhook.
  consecutive_failures integer not null default 0,
  last_delivered_at timestamptz,
  last_failed_at timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id)
);

-- What was sent, is being sent or waits to be: one row for each event and webhook, the log as well as the queue. The body is not kept
-- here. It is made from the event each time, so that what is erased there is gone from here.
create table webhook_deliveries (
  project_id uuid not null,
  webhook_id uuid not null,
  id uuid not null,
  -- Where the event stands in the outbox; a bulk row holds many, and `item` is its place there. The project is named because events stay
  -- with theirs when two become one. Null for a test (`webhook.test`), which is no event of the outbox: it is tried once and counts for
  -- nothing.
  event_project_id uuid,
  event_row_id uuid,
  item integer not null default 0,
  event_id uuid not null,
  event_type text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  -- Attempts that are over.
  attempt integer not null default 0,
  -- When the next attempt is due. Null when it is settled, and for a test that whoever asked for it carries out.
  next_at timestamptz,
  -- Of the last attempt.
  attempted_at timestamptz,
  http_status integer,
  duration_ms integer,
  error text,
  response_headers jsonb,
  response_body text,
  delivered_at timestamptz,
  -- Somebody asked for the event once more.
  is_replay boolean not null default false,
  created_at timestamptz not null,
  primary key (project_id, webhook_id, id)
);
-- While one replay of an event waits, nobody needs another.
create index webhook_deliveries_replays on webhook_deliveries (project_id, webhook_id, event_id) where is_replay and status = 'pending';
-- First attempts go in the order of events, which is that of the ids; later ones when their time has come.
create index webhook_deliveries_first on webhook_deliveries (project_id, webhook_id, id) where status = 'pending' and attempt = 0 and next_at is not null;
create index webhook_deliveries_again on webhook_deliveries (project_id, webhook_id, next_at, id) where status = 'pending' and attempt > 0;
-- The log: newest first, of one status. Nearly all are delivered, and need no index of their own.
create index webhook_deliveries_pending on webhook_deliveries (project_id, webhook_id, id) where status = 'pending';
create index webhook_deliveries_failed on webhook_deliveries (project_id, webhook_id, id) where status = 'failed';
create index webhook_deliveries_by_type on webhook_deliveries (project_id, webhook_id, event_type, id);

-- Which webhooks have something to deliver: one short row each, so that finding work costs the same however many deliveries wait. A process
-- leases the whole queue of a webhook, so that its first attempts begin in order and the bound on requests at once holds for all processes.
create table webhook_queues (
  project_id uuid not null,
  webhook_id uuid not null,
  -- When somebody is to look: now, at the next attempt, or when the lease runs out. Null when nothing waits.
  due_at timestamptz,
  lease_owner uuid,
  -- Grows whenever something is added: whoever gives the queue back sees by it that nothing was in the meantime.
  filed bigint not null default 0,
  -- The webhook was disabled: what was waiting then, up to this id, ends as failed.
  ends_until uuid,
  primary key (project_id, webhook_id)
);
create index webhook_queues_due on webhook_queues (due_at) where due_at is not null;

-- Event rows that mean so many deliveries that filing them at once would hold up those of other projects: they are filed in pieces, in the order
-- of their ids, and a row goes with its last piece.
create table webhook_masses (
  project_id uuid not null,
  id uuid not null,
  event_project_id uuid not null,
  event_row_id uuid not null,
  event_type text not null,
  item_count integer not null,
  next_item integer not null default 0,
  -- Who wanted it when it happened.
  webhooks uuid[] not null,
  created_at timestamptz not null,
  primary key (project_id, id)
);

-- Deliveries are made of what happens from now on, also before the first process that makes them is there.
insert into event_consumers (name, transaction_id) values ('webhooks', pg_snapshot_xmin(pg_current_snapshot())) on conflict do nothing;
