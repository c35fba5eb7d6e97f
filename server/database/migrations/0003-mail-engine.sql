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

-- Numbers whoever becomes a subscriber, and every press of "send": who came before a press has a smaller number than it, whatever the
-- clocks of the machines say. Whoever was there before has none, and came before every press.
create sequence activations;
alter table subscribers add column activation bigint not null default 0;
alter table subscribers alter column activation set default nextval('activations');
alter sequence activations owned by subscribers.activation;

-- One press of "send". `source` is what is sent, as it was then: later edits of post or list change nothing on its way. Recipients are
-- the active subscribers whose `activation` is smaller; `expanded_to` is how far they have become deliveries, and `expanded` how many.
create table broadcasts (
  project_id uuid not null references projects,
  id uuid not null,
  list_id uuid not null,
  post_id uuid not null,
  status text not null default 'sending' check (status in ('sending', 'paused', 'done', 'aborted')),
  source jsonb not null,
  -- What the post became, for whoever sends: they read none of what its author wrote. As text: letters may be in it that jsonb refuses.
  compiled json,
  -- Of the address in From: what receivers judge, and what warms up.
  from_domain text,
  -- Whether its merge tags ask for more than the ledger has.
  uses_contact boolean not null default false,
  recipients bigint not null,
  -- What it is booked on, until what was not used has been given back; and how many e-mails are booked for it in all.
  reservation_id uuid,
  booked bigint not null default 0,
  -- How many the last retry tries again, and how many of them the expander has still to queue: then `expanded_to` is how far that is.
  retried bigint not null default 0,
  retry_left bigint not null default 0,
  activation bigint not null default nextval('activations'),
  expanded_to uuid,
  expanded bigint not null default 0,
  is_expanded boolean not null default false,
  -- Why it is paused, for people to read; and for programs, when the breaker has paused it, together with when the owner was told.
  reason text,
  tripped text check (tripped in ('bounces', 'complaints', 'errors')),
  owner_told_at timestamptz,
  -- What had happened when somebody resumed it: the breaker counts from there.
  forgiven_settled bigint not null default 0,
  forgiven_bounced bigint not null default 0,
  forgiven_complained bigint not null default 0,
  -- Kept by the statement that settles; the nightly repair proves them against the deliveries.
  delivered bigint not null default 0,
  bounced bigint not null default 0,
  failed bigint not null default 0,
  complained bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  created_at timestamptz not null,
  finished_at timestamptz,
  -- Since then its deliveries are being removed: its counts are all that is left of them, or will be.
  pruned_at timestamptz,
  primary key (project_id, id)
) with (fillfactor = 50);
create index broadcasts_to_release on broadcasts (finished_at) where reservation_id is not null and finished_at is not null;
create index broadcasts_to_tell on broadcasts (created_at) where tripped is not null and owner_told_at is null;
create index broadcasts_open on broadcasts (created_at) where status in ('sending', 'paused');
create index broadcasts_of_post on broadcasts (project_id, post_id, id);

-- The ledger: one row per recipient of a broadcast. `next_attempt_at` is when it is due; while it is being sent, when whoever
-- claimed it (`lease_owner`) is given up, by the clock of this server. `id` is in every link and return path of the message.
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
  -- What the failure says of the address, judged by the other server's words when it happened; null when nothing. And when the
  -- consequences were drawn.
  bounce_class text check (bounce_class in ('hard', 'soft', 'policy')),
  followed_at timestamptz,
  primary key (project_id, id)
);
create unique index deliveries_once on deliveries (project_id, broadcast_id, subscriber_id);
create index deliveries_open on deliveries (project_id, broadcast_id, next_attempt_at) where status in ('queued', 'sending');
-- The few that somebody looks for among many.
create index deliveries_troubled on deliveries (project_id, broadcast_id, subscriber_id) where status in ('bounced', 'failed', 'complained');
-- The few that were put off, among all that wait for their first time.
create index deliveries_again on deliveries (project_id, broadcast_id, next_attempt_at) where status = 'queued' and attempts > 0;
create index deliveries_leased on deliveries (lease_owner) where status = 'sending';
create index deliveries_by_contact on deliveries (project_id, contact_id, id);
-- Bounces, and mailboxes that stayed full for days, which nobody has drawn the consequences from. One sent again may fail again.
create index deliveries_to_follow on deliveries (settled_at)
  where status in ('bounced', 'failed') and bounce_class is not null and (followed_at is null or followed_at < settled_at);

-- Tokens in mail have room for half of a project's id: its random half.
create unique index projects_by_tail on projects (substring(uuid_send(id) from 9));

-- The days on which mail to this person failed for reasons that may pass: three of them end it.
alter table contacts add column soft_bounced_on date[] not null default '{}';

-- What came back about single mails. A soft bounce is kept here, because whoever is written to need not be a contact.
alter table emails add column enhanced_code text, add column is_soft_bounce boolean not null default false;
create index emails_soft_bounces on emails (project_id, to_key) where is_soft_bounce;
-- What failed and still has its words.
create index emails_to_empty on emails (updated_at) where status = 'failed' and (text_body is not null or html_body is not null);
-- The same for queued messages. What bounced before this was there is an old story.
alter table messages add column enhanced_code text, add column followed_at timestamptz,
  add column bounce_class text check (bounce_class in ('hard', 'soft', 'policy'));
update messages set followed_at = settled_at where status = 'bounced';
create index messages_to_follow on messages (settled_at) where status = 'bounced' and list_id is not null and followed_at is null;

-- Who reads events of which types: those of single recipients are written only for them.
create table event_interests (
  project_id uuid not null references projects,
  consumer text not null,
  types text[] not null,
  primary key (project_id, consumer)
);

-- Where the links of a broadcast lead: a click goes to one of these and nowhere else.
create table broadcast_links (
  project_id uuid not null,
  broadcast_id uuid not null,
  number smallint not null,
  url text not null,
  clicks bigint not null default 0,
  primary key (project_id, broadcast_id, number)
);

-- Domains that are, or were, new to receivers, and send little a day at first. `sent` counts what was claimed for the first time, and
-- single mail, on the day of UTC that began at `counted_from`.
create table warm_ups (
  project_id uuid not null references projects,
  domain text not null,
  started_at timestamptz not null,
  counted_from timestamptz not null,
  sent bigint not null default 0,
  primary key (project_id, domain)
) with (fillfactor = 50);

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
