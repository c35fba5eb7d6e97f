-- Posts, broadcasts and who got what.

create table posts (
  project_id uuid not null references projects,
  list_id uuid not null,
  id uuid not null,
  subject text not null,
  preview_text text,
  body_html text,
  body_text text,
  body_markdown text,
  status text not null default 'draft' check (status in ('draft', 'scheduled', 'published', 'sent', 'rejected')),
  source text not null default 'api' check (source in ('api', 'email')),
  needs_approval boolean not null default false,
  scheduled_at timestamptz,
  published_at timestamptz,
  sent_at timestamptz,
  -- The newest broadcast of it; a post that was sent has one.
  broadcast_id uuid,
  created_by uuid,
  issues_summary jsonb,
  checked_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, list_id, id)
);
create index posts_due on posts (scheduled_at) where status = 'scheduled';
-- What the view of all lists shows of each: what waits, and when it was last sent to.
create index posts_waiting on posts (project_id, list_id) where status in ('draft', 'scheduled');
create index posts_sent on posts (project_id, list_id, sent_at) where sent_at is not null;

-- One press of "send". `source` is what is sent, as it was then: later edits of post or list change nothing on its way. Recipients are
-- the subscribers who were active at `snapshot_at`; `expanded_to` is how far they have become deliveries.
create table broadcasts (
  project_id uuid not null references projects,
  id uuid not null,
  list_id uuid not null,
  post_id uuid not null,
  status text not null default 'sending' check (status in ('sending', 'paused', 'done', 'aborted')),
  source jsonb not null,
  recipients bigint not null,
  reservation_id uuid,
  snapshot_at timestamptz not null,
  expanded_to uuid,
  is_expanded boolean not null default false,
  -- Why it is paused, for people to read.
  reason text,
  -- Kept by the statement that settles; the nightly repair proves them against the deliveries.
  delivered bigint not null default 0,
  bounced bigint not null default 0,
  failed bigint not null default 0,
  complained bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  created_at timestamptz not null,
  finished_at timestamptz,
  primary key (project_id, id)
) with (fillfactor = 50);
create index broadcasts_open on broadcasts (created_at) where status in ('sending', 'paused');
create index broadcasts_of_post on broadcasts (project_id, post_id, id);

-- The ledger: one row per recipient of a broadcast. `next_attempt_at` is when it is due; while it is being sent, when whoever
-- claimed it (`lease_owner`) is given up. `id` is in every link and return path of the message.
create table deliveries (
  project_id uuid not null,
  id uuid not null,
  broadcast_id uuid not null,
  subscriber_id uuid not null,
  contact_id uuid not null,
  email text not null,
  name text,
  status text not null default 'queued' check (status in ('queued', 'sending', 'delivered', 'bounced', 'failed', 'complained')),
  attempts smallint not null default 0,
  next_attempt_at timestamptz not null,
  lease_owner uuid,
  smtp_code integer,
  enhanced_code text,
  reason text,
  sent_at timestamptz,
  settled_at timestamptz,
  opened_at timestamptz,
  open_count integer not null default 0,
  click_count integer not null default 0,
  -- Opens and clicks by scanners and privacy proxies, which say nothing of the person.
  machine_open_count integer not null default 0,
  primary key (project_id, id)
);
create unique index deliveries_once on deliveries (project_id, broadcast_id, subscriber_id);
create index deliveries_open on deliveries (project_id, broadcast_id, next_attempt_at) where status in ('queued', 'sending');
create index deliveries_leased on deliveries (lease_owner) where status = 'sending';
create index deliveries_by_contact on deliveries (project_id, contact_id, id);

-- Where the links of a broadcast lead: a click goes to one of these and nowhere else.
create table broadcast_links (
  project_id uuid not null,
  broadcast_id uuid not null,
  number smallint not null,
  url text not null,
  clicks bigint not null default 0,
  primary key (project_id, broadcast_id, number)
);

-- Keys that sign mail of a domain. The private key is sealed. A domain has one active key per algorithm; the one before stays
-- in DNS for a while after a rotation.
create table dkim_keys (
  project_id uuid not null references projects,
  id uuid not null,
  domain text not null,
  selector text not null,
  algorithm text not null check (algorithm in ('rsa-sha256', 'ed25519-sha256')),
  private_key bytea not null,
  public_key text not null,
  status text not null default 'active' check (status in ('active', 'retired')),
  created_at timestamptz not null,
  retired_at timestamptz,
  primary key (project_id, id)
);
create unique index dkim_keys_active on dkim_keys (project_id, domain, algorithm) where status = 'active';
create unique index dkim_keys_selector on dkim_keys (domain, selector);
