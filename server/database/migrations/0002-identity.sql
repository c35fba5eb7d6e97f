-- People and agents, teams, OAuth, plans and payment, and the mail that plans are counted for.

-- `slug` is the first part of /{owner}/{space}/v1. An agent that was linked has the human it belongs to as its parent, who can
-- switch it off.
alter table users
  add column slug text not null unique default gen_random_uuid()::text,
  add column parent_id uuid references users,
  add column disabled_at timestamptz;
create index users_by_parent on users (parent_id) where parent_id is not null;

-- Money is counted in thousandths of a dollar: an e-mail over the plan costs three of them.
alter table projects
  add column plan text not null default 'free',
  add column overage_enabled boolean not null default false,
  add column overage_cap_mills bigint check (overage_cap_mills >= 0),
  -- A deleted project disappears at once; its rows follow in the background, and this one stays as a tombstone.
  add column deleted_at timestamptz;
update projects set plan = 'unlimited' where id = (select owner_project_id from instance);
update users set slug = 'owner' where id = (select p.owner_id from projects p join instance i on i.owner_project_id = p.id);
create index members_by_user on members (user_id);

-- The mailbox that the agent behind a key was given when it registered: it may send from there without the scope to send.
-- `grant_id`: an app made this key, and it ends with the app's grant.
alter table api_keys add column agent_mailbox_id uuid, add column grant_id text;
create index api_keys_by_grant on api_keys (grant_id) where grant_id is not null;
create index api_keys_by_user on api_keys (user_id);

-- A message with a code in it: its text is thrown away once it has been sent.
alter table messages add column is_secret boolean not null default false;
-- Confirmations are counted by recipient over all projects, and by project.
create index messages_confirmations on messages (recipient_key, created_at) where kind = 'confirmation';
create index messages_confirmations_sent on messages (project_id, created_at) where kind = 'confirmation';

-- A browser that somebody has signed in with. The cookie holds the secret, this table its SHA-256.
create table sessions (
  id uuid primary key,
  hash bytea not null unique,
  user_id uuid not null references users,
  user_agent text,
  ip text,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_age on sessions (expires_at);

-- Six digits on their way to a mailbox. The digits are kept as an HMAC with a key of our own: a plain hash of a million values
-- is no secret. `binding` is the SHA-256 of what only the one who asked knows: a cookie, or a claim token.
create table email_codes (
  id uuid primary key,
  purpose text not null check (purpose in ('sign_in', 'claim')),
  email text not null,
  email_key text not null,
  -- The same without what follows a +: the mailbox that gets the mail.
  mailbox_key text not null,
  code_hmac bytea not null,
  binding bytea not null,
  ip text not null,
  -- The asker had proved this address before.
  is_known boolean not null default false,
  tries smallint not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index email_codes_by_binding on email_codes (binding, created_at desc);
create index email_codes_by_mailbox on email_codes (mailbox_key, created_at);
create index email_codes_by_ip on email_codes (ip, created_at);
create index email_codes_by_age on email_codes (created_at);

-- A link that signs somebody in once: printed at the first start, or by the command line.
create table sign_in_links (
  hash bytea primary key,
  user_id uuid not null references users,
  expires_at timestamptz not null
);

-- Somebody is asked into a project. The addressee approves or rejects, the project revokes. `source` is team for people asked by
-- the project, agent for the human whom a linked agent asks into its own project.
create table invites (
  project_id uuid not null references projects,
  id uuid not null,
  email text not null,
  email_key text not null,
  role text not null check (role in ('owner', 'admin', 'editor', 'viewer')),
  status text not null default 'pending' check (status in ('pending', 'approved', 'rejected', 'revoked')),
  source text not null check (source in ('team', 'agent')),
  -- Who asks: the member, or the agent.
  user_id uuid not null references users,
  created_at timestamptz not null,
  decided_at timestamptz,
  -- When the mail last went out: it is repeated once a day at most.
  mailed_at timestamptz,
  primary key (project_id, id)
);
create unique index invites_open on invites (project_id, email_key) where status = 'pending';
create index invites_by_address on invites (email_key, status);
create index invites_by_maker on invites (user_id, created_at);

-- What an agent got at /agent/auth, until a human claims it. An e-mail registration has neither user nor project before that.
create table agent_registrations (
  id uuid primary key,
  kind text not null check (kind in ('anonymous', 'email')),
  user_id uuid references users,
  project_id uuid references projects,
  claim_token_hash bytea not null unique,
  claim_expires_at timestamptz not null,
  -- What the open claim asks for.
  email text,
  email_key text,
  link boolean,
  claimed_at timestamptz,
  claimed_by uuid references users,
  mode text check (mode in ('merge', 'link')),
  -- After a merge: where the things of `project_id` are now.
  merged_into uuid references projects,
  ip text not null,
  created_at timestamptz not null
);
create index agent_registrations_by_ip on agent_registrations (ip, created_at);
create index agent_registrations_by_age on agent_registrations (created_at);
create index agent_registrations_by_project on agent_registrations (project_id) where project_id is not null;

-- Everything that the OAuth server keeps. `id_hash`: ids are the tokens themselves. `payload` is encrypted.
create table oauth_records (
  model text not null,
  id_hash bytea not null,
  payload bytea not null,
  grant_id text,
  uid text,
  consumed_at timestamptz,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (model, id_hash)
);
create index oauth_records_by_grant on oauth_records (grant_id) where grant_id is not null;
create index oauth_records_by_uid on oauth_records (uid) where uid is not null;
create index oauth_records_by_age on oauth_records (expires_at) where expires_at is not null;

-- Apps that asked to be registered, counted by where they asked from: anybody may.
create table oauth_registrations (
  id uuid primary key,
  peer text not null,
  created_at timestamptz not null
);
create index oauth_registrations_by_peer on oauth_registrations (peer, created_at);
create index oauth_registrations_by_age on oauth_registrations (created_at);

-- Which project a person let an app into. Removing the row cuts the app off at once.
create table oauth_grants (
  project_id uuid not null references projects,
  id uuid not null,
  grant_id text not null unique,
  user_id uuid not null references users,
  client_id text not null,
  client_name text not null,
  scopes text[] not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  primary key (project_id, id)
);
create index oauth_grants_by_user on oauth_grants (user_id);

-- E-mails of a project in a calendar month (UTC). `used` is everything booked; of it, `overage` is billed later and `paid_used` was
-- paid for at once; the rest is the plan's, and may be more than the plan has, when it became smaller. `paid` is all that was paid for at
-- once: what is not used of it may still be sent. One row a month, locked by whoever books: exact, whoever races.
create table usage_periods (
  project_id uuid not null references projects,
  period_start timestamptz not null,
  used bigint not null default 0 check (used >= 0),
  overage bigint not null default 0 check (overage >= 0),
  paid bigint not null default 0,
  paid_used bigint not null default 0 check (paid_used between 0 and paid),
  -- Whose month it is: who owned the project when it first sent. Free projects of one owner share one allowance, also those that are
  -- deleted or were passed on since.
  owner_id uuid references users,
  -- The invoice for the overage of a month that is over: begun, and from then on nothing is given back; when it was complete; and what
  -- became of it, once that is known.
  invoice_id text,
  billed_at timestamptz,
  invoice_status text check (invoice_status in ('paid', 'unpaid')),
  primary key (project_id, period_start)
);
create index usage_periods_by_owner on usage_periods (owner_id, period_start);
create index usage_periods_invoiced on usage_periods (invoice_id) where invoice_id is not null and invoice_status is distinct from 'paid';

-- What one send has booked, so that what it did not use can be given back to the month it came from. Of `count`, `overage` is billed
-- later and `paid` was paid for; `paid_for` is what came with the request. `mailbox_id`: the agent's own, when it sent without the scope
-- to send; what it may send is added up from these rows.
create table usage_reservations (
  project_id uuid not null references projects,
  id uuid not null,
  period_start timestamptz not null,
  count bigint not null check (count >= 0),
  overage bigint not null default 0,
  paid bigint not null default 0,
  paid_for bigint not null default 0,
  mailbox_id uuid,
  created_at timestamptz not null,
  primary key (project_id, id)
);
create index usage_reservations_by_age on usage_reservations (created_at);
create index usage_reservations_by_mailbox on usage_reservations (project_id, mailbox_id, period_start) where mailbox_id is not null;

-- 402 challenges: open → charging (the card processor is being asked) → paid, once; or → closed, when the card was declined or no
-- payment was needed any more. `body_digest` binds one to its request.
create table payment_challenges (
  project_id uuid not null references projects,
  id text not null unique,
  key_id uuid,
  user_id uuid not null,
  -- The agent's own, when it asked without the scope to send: what is paid and not used is for that agent.
  mailbox_id uuid,
  operation text not null,
  target text not null,
  emails bigint not null,
  amount_cents bigint not null,
  body_digest text not null,
  status text not null default 'open' check (status in ('open', 'charging', 'paid', 'closed')),
  -- SHA-256 of the payment token that is being charged: only the same one may go on after a failure in between.
  token_hash bytea,
  reference text,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  consumed_at timestamptz,
  primary key (project_id, id)
);
create index payment_challenges_by_age on payment_challenges (created_at);
create index payment_challenges_open on payment_challenges (project_id, created_at) where status = 'open';
create index payment_challenges_charging on payment_challenges (created_at) where status = 'charging';

-- What the card processor knows of a project.
create table billing_accounts (
  project_id uuid primary key references projects,
  customer_id text,
  subscription_id text,
  plan text,
  status text,
  current_period_end timestamptz,
  cancel_at_period_end boolean not null default false,
  -- A subscription that is being made: what the card processor knows the attempt by, and until when nobody else may try.
  attempt uuid,
  attempt_until timestamptz,
  updated_at timestamptz not null
);

-- Mail that mailboxes send.
create table emails (
  project_id uuid not null references projects,
  id uuid not null,
  mailbox_id uuid not null,
  from_address text not null,
  to_address text not null,
  to_key text not null,
  reply_to text,
  subject text,
  text_body text,
  html_body text,
  status text not null check (status in ('sending', 'sent', 'delivered', 'bounced', 'failed', 'complained')),
  provider_message_id text,
  source_tag text,
  metadata jsonb not null default '{}',
  -- What it has booked of the plan; null once that was given back because it did not leave.
  reservation_id uuid,
  smtp_code integer,
  reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id)
);
create index emails_by_mailbox on emails (project_id, mailbox_id, id);
create index emails_sending on emails (updated_at) where status = 'sending';

-- Idempotency-Key, for 24 hours. `lease_until`: the first request (`holder`) is under way; past it, whoever comes next goes on.
create table idempotency_keys (
  project_id uuid not null references projects,
  key text not null,
  operation text not null,
  body_digest text not null,
  -- What the first request made: the second one is shown that.
  result_id uuid,
  receipt text,
  lease_until timestamptz,
  holder uuid,
  created_at timestamptz not null,
  primary key (project_id, key)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);
