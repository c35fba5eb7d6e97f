-- Every tenant table has project_id first in its keys: another project's row is out of reach of any query that names the tenant, and
-- the rows can be distributed by tenant. Three things are unique across tenants by nature: key hashes, subdomains, mailbox addresses.

create extension if not exists pg_trgm;

-- One row: what this database belongs to.
create table instance (
  only_row boolean primary key default true check (only_row),
  owner_project_id uuid not null,
  secret_fingerprint text not null,
  created_at timestamptz not null default now()
);

create table users (
  id uuid primary key,
  kind text not null check (kind in ('human', 'agent')),
  email text,
  email_key text unique,
  name text,
  created_at timestamptz not null default now()
);

create table projects (
  id uuid primary key,
  name text not null,
  slug text not null unique,
  owner_id uuid not null references users,
  created_at timestamptz not null default now()
);

create table members (
  project_id uuid not null references projects,
  user_id uuid not null references users,
  role text not null check (role in ('owner', 'admin', 'editor', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (project_id, user_id)
);

-- Only a SHA-256 of a key is kept. Revoking deletes the row; the audit log remembers it.
create table api_keys (
  project_id uuid not null references projects,
  id uuid not null,
  user_id uuid not null references users,
  name text not null,
  prefix text not null,
  hash bytea not null unique,
  scopes text[] not null,
  mailbox_id uuid,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  primary key (project_id, id)
);

create table mailboxes (
  project_id uuid not null references projects,
  id uuid not null,
  address text not null,
  address_key text not null,
  name text,
  type text not null check (type in ('persistent', 'disposable', 'proxy')),
  status text not null check (status in ('active', 'paused', 'disabled')),
  list_id uuid,
  config jsonb,
  expires_at timestamptz,
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
create unique index mailboxes_address on mailboxes (address_key) where deleted_at is null;

create table lists (
  project_id uuid not null references projects,
  id uuid not null,
  name text not null,
  subdomain text not null,
  type text not null check (type in ('newsletter', 'waitlist', 'announcement')),
  description text,
  mailbox_id uuid not null,
  sender_name text,
  reply_to text,
  confirmation_message text,
  postal_address text,
  track_opens boolean not null default false,
  track_clicks boolean not null default false,
  show_posts boolean not null default true,
  show_subscriber_count boolean not null default false,
  -- A deleted list disappears at once; its rows follow in the background.
  deleted_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (project_id, id)
);
create unique index lists_subdomain on lists (subdomain) where deleted_at is null;

-- Subscribers per status, kept in the transaction that changes them. Several slots a list, chosen by database session, so that
-- writers to one list do not queue behind one row; a reader adds the slots up. The nightly repair proves them.
create table list_counters (
  project_id uuid not null,
  list_id uuid not null,
  slot smallint not null,
  active bigint not null default 0,
  pending bigint not null default 0,
  unsubscribed bigint not null default 0,
  bounced bigint not null default 0,
  primary key (project_id, list_id, slot)
) with (fillfactor = 50);

create table contacts (
  project_id uuid not null,
  id uuid not null,
  kind text not null default 'person' check (kind in ('person', 'agent')),
  email text,
  email_key text,
  name text,
  notes text,
  org text,
  job_title text,
  labels text[] not null default '{}',
  metadata jsonb not null default '{}',
  country text,
  city text,
  timezone text,
  total_received integer not null default 0,
  total_opens integer not null default 0,
  total_clicks integer not null default 0,
  total_replies integer not null default 0,
  last_activity_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- What `search` looks through: the address as people write it, the name, and the address as DNS writes it where that differs.
  search_text text generated always as (
    lower(coalesce(email, '') || ' ' || coalesce(name, '')) || case when email_key <> lower(email) then ' ' || email_key else '' end) stored,
  -- What `sort=top` orders by: a reply says more than a click, a click more than an open.
  engagement integer generated always as (total_opens + 3 * total_clicks + 10 * total_replies) stored,
  primary key (project_id, id)
);
create unique index contacts_email on contacts (project_id, email_key);
create index contacts_search on contacts using gin (search_text gin_trgm_ops);
-- Partial: people who never did anything are ordered by id, and cost an import nothing here.
create index contacts_top on contacts (project_id, engagement desc, id desc) where engagement > 0;
create index contacts_active on contacts (project_id, last_activity_at desc, id desc) where last_activity_at is not null;
create index contacts_name on contacts (project_id, lower(name), id) where name is not null;

create table subscribers (
  project_id uuid not null,
  list_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  email text,
  email_key text,
  name text,
  status text not null check (status in ('active', 'pending', 'unsubscribed', 'bounced')),
  source text,
  subscribed_at timestamptz,
  unsubscribed_at timestamptz,
  last_open_at timestamptz,
  last_click_at timestamptz,
  country text,
  city text,
  created_at timestamptz not null default now(),
  primary key (project_id, list_id, id)
);
create unique index subscribers_email on subscribers (project_id, list_id, email_key);
create index subscribers_status on subscribers (project_id, list_id, status, id);
create index subscribers_contact on subscribers (project_id, contact_id);

-- Addresses that get no more mail from this project. Erasing a person leaves the hash alone.
create table suppressions (
  project_id uuid not null,
  address_hash bytea not null,
  email text,
  reason text not null check (reason in ('hard_bounce', 'soft_bounces', 'complaint', 'manual', 'erased')),
  detail text,
  -- Milliseconds, as a page's cursor has them: finer times would fall between two pages.
  created_at timestamptz(3) not null default now(),
  primary key (project_id, address_hash)
);
create index suppressions_recent on suppressions (project_id, created_at desc, address_hash desc);
create index suppressions_reason on suppressions (project_id, reason, created_at desc, address_hash desc);

-- The outbox: every state change, written in its own transaction. A consumer's cursor is (transaction_id, position), read only
-- below the oldest transaction still open: positions alone commit out of order and would be skipped under load.
-- A bulk change is one row: `items` holds {template, rows} for `item_count` events, and `data` is null.
create table events (
  project_id uuid not null,
  id uuid not null,
  transaction_id xid8 not null default pg_current_xact_id(),
  position bigint generated always as identity,
  type text not null,
  data jsonb,
  items json,
  item_count integer not null default 1,
  created_at timestamptz not null,
  primary key (project_id, id),
  check ((data is null) <> (items is null))
);
-- Stored as it is: compressing bulk rows took a sixth of an import's time.
alter table events alter items set storage external;
create index events_in_order on events (transaction_id, position);
create index events_by_age on events (created_at);

create table event_consumers (
  name text primary key,
  transaction_id xid8 not null default '0',
  position bigint not null default 0,
  updated_at timestamptz not null default now()
);

-- What the activity feed shows: the newest items of a list, and counts by the hour.
create table list_activity (
  project_id uuid not null,
  list_id uuid not null,
  id uuid not null,
  type text not null,
  at timestamptz not null,
  email text,
  subject text,
  post_id uuid,
  subscriber_id uuid,
  email_id uuid,
  message_id text,
  primary key (project_id, list_id, id)
);
create index list_activity_newest on list_activity (project_id, list_id, at desc, id desc);

create table list_activity_hours (
  project_id uuid not null,
  list_id uuid not null,
  hour timestamptz not null,
  subscribed bigint not null default 0,
  unsubscribed bigint not null default 0,
  replies bigint not null default 0,
  primary key (project_id, list_id, hour)
);

-- Single messages on their way out (confirmations, notices).
create table messages (
  project_id uuid not null,
  id uuid not null,
  kind text not null,
  -- On whose behalf; null when no list is.
  list_id uuid,
  recipient text not null,
  -- What addresses are compared by, so that all mail to a person is found however it was addressed.
  recipient_key text not null,
  mail jsonb not null,
  status text not null default 'queued' check (status in ('queued', 'sending', 'delivered', 'bounced', 'failed')),
  attempts smallint not null default 0,
  -- When it is due; while it is being sent, when whoever claimed it is given up.
  next_attempt_at timestamptz not null default now(),
  smtp_code integer,
  reason text,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  primary key (project_id, id)
);
create index messages_due on messages (next_attempt_at) where status in ('queued', 'sending');
create index messages_recipient on messages (project_id, recipient_key, id);
create index messages_settled on messages (settled_at) where settled_at is not null;

-- OUTBOUND=capture keeps mail here instead of sending it.
create table captured_messages (
  id uuid primary key,
  envelope_from text not null,
  envelope_to text not null,
  subject text not null,
  message bytea not null,
  created_at timestamptz not null default now()
);
create index captured_messages_newest on captured_messages (created_at desc);

-- Who changed what: one row for every mutation, in its transaction.
create table audit_log (
  project_id uuid not null,
  id uuid not null,
  at timestamptz not null,
  operation text not null,
  user_id uuid,
  key_id uuid,
  target jsonb not null,
  request_id text,
  primary key (project_id, id)
);

-- Requests counted by all nodes. Losing it in a crash forgives at most one minute.
create unlogged table rate_windows (
  subject text not null,
  window_start timestamptz not null,
  used bigint not null,
  primary key (subject, window_start)
);
create index rate_windows_by_age on rate_windows (window_start);
