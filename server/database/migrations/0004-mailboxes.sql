-- Mail that comes in: the spool that it is accepted into, the mailboxes that it is filed in, and what is read out of it.

-- A message that was answered 250 and is not filed yet. Rows are short-lived: filing removes them in the transaction that writes the
-- e-mails. `next_attempt_at` is when it is due; while somebody works on it (`lease_owner`), when they are given up.
create table inbound_spool (
  id uuid primary key,
  received_at timestamptz not null,
  -- Who handed it over: { address, name, is_tls }.
  peer jsonb not null,
  -- '' for the null sender.
  envelope_from text not null,
  -- As in RCPT TO, in the order they came.
  recipients text[] not null,
  raw bytea not null,
  attempts smallint not null default 0,
  next_attempt_at timestamptz not null,
  lease_owner uuid,
  -- Why it could not be filed the last time.
  problem text
);
-- Mail is mostly base64 already, and it is read once: compressing it would cost more than it saves.
alter table inbound_spool alter column raw set storage external;
create index inbound_spool_due on inbound_spool (next_attempt_at);

-- Which of "sender, recipient, network" asked when, while GREYLISTING is on.
create table greylist (
  key bytea primary key,
  first_at timestamptz not null,
  passed_at timestamptz
);
create index greylist_by_age on greylist (first_at);

-- One table for what a mailbox has sent and received.
alter table emails
  add column direction text not null default 'outbound' check (direction in ('inbound', 'outbound')),
  -- The spooled message that this was made of: filing the same one again changes nothing.
  add column inbound_id uuid,
  -- Without angle brackets. What a mail went out with is `provider_message_id`, and for mail from here the same.
  add column message_id text,
  add column in_reply_to text,
  add column reference_ids text[] not null default '{}',
  add column thread_id uuid,
  add column from_name text,
  add column contact_id uuid,
  add column tags jsonb,
  -- What is new in a reply, without what it quotes.
  add column extracted_text text,
  add column extracted_data jsonb,
  add column handler_results jsonb,
  -- { spf, dkim, dmarc, arc }: how the sender proved who they are.
  add column verdicts jsonb,
  -- [{ number, filename, content_type, size, content_id, is_inline }]; the bytes are read out of the raw message when asked for.
  add column attachments jsonb not null default '[]',
  -- Where the raw message lies in the blob store.
  add column raw_key text,
  add column raw_size integer,
  -- Written by a program (RFC 3834): bounce, auto-reply, list.
  add column is_automatic boolean not null default false,
  -- A person's answer to a mail of ours.
  add column is_reply boolean not null default false,
  add column received_at timestamptz,
  -- Its place in what the mailbox received and sent, from 1, in the order of the commits: whoever has read up to one has missed none
  -- before it. Null while it is being sent, and when it failed.
  add column position bigint,
  -- What was noted of a mail that was sent; the status of one that came in says it itself.
  add column mark text check (mark in ('read', 'archived')),
  drop constraint emails_status_check,
  add constraint emails_status_check check (status in ('sending', 'sent', 'delivered', 'bounced', 'failed', 'complained', 'received', 'read', 'replied', 'archived'));
-- Compressing the words of a mail took two thirds of the time that filing it takes.
alter table emails alter text_body set storage external, alter html_body set storage external, alter extracted_text set storage external;
-- In this order it also tells whether another mailbox of the project still needs the raw message.
create unique index emails_filed_once on emails (project_id, inbound_id, mailbox_id) where inbound_id is not null;
create index emails_by_thread on emails (project_id, mailbox_id, thread_id, id);
create index emails_by_direction on emails (project_id, mailbox_id, direction, id);
create index emails_unread on emails (project_id, mailbox_id, id) where status = 'received';
create index emails_by_tag on emails using gin (tags jsonb_path_ops) where tags is not null;
create index emails_by_position on emails (project_id, mailbox_id, position) where position is not null;
create index emails_by_message_id on emails (project_id, message_id);
create index emails_by_contact on emails (project_id, contact_id, id) where contact_id is not null;

-- Each mail from before is a conversation of its own.
update emails set message_id = provider_message_id, thread_id = id;

-- Kept by the statements that file and send, so that a list of mailboxes counts nothing.
alter table mailboxes
  add column email_count bigint not null default 0,
  add column last_position bigint not null default 0,
  add column last_received_at timestamptz,
  -- When what a deleted mailbox held was erased.
  add column emptied_at timestamptz;
create index mailboxes_by_end on mailboxes (expires_at) where expires_at is not null and deleted_at is null;
create index mailboxes_to_empty on mailboxes (deleted_at) where deleted_at is not null and emptied_at is null;

-- Addresses that were somebody's until lately: mail for them still comes, so nobody else gets them. The project is no reference, and
-- not called project_id, because the row outlives it.
create table retired_addresses (
  address_key text primary key,
  kept_for uuid not null,
  kept_until timestamptz not null
);
create index retired_addresses_by_end on retired_addresses (kept_until);
-- Whoever signs in with name+anything has the mailbox `name`.
create index users_with_plus on users (email_key) where email_key like '%+%';

-- Reply addresses of proxy mailboxes: whoever writes to one reaches `outside`, from the mailbox.
create table proxy_addresses (
  project_id uuid not null,
  mailbox_id uuid not null,
  id uuid not null,
  outside text not null,
  outside_key text not null,
  created_at timestamptz not null,
  primary key (project_id, mailbox_id, id)
);
create unique index proxy_addresses_once on proxy_addresses (project_id, mailbox_id, outside_key);
-- The address itself names nothing else.
create unique index proxy_addresses_by_id on proxy_addresses (id);

-- What they have passed on, one way or the other, and nobody has looked at since it was settled.
create index messages_passed_on on messages (settled_at)
  where kind in ('forward', 'proxy_reply') and settled_at is not null and followed_at is null;

-- Invitations that came by mail (RFC 5545). One row for each event of each mailbox; a cancelled one stays, marked.
create table calendar_events (
  project_id uuid not null,
  id uuid not null,
  mailbox_id uuid not null,
  email_id uuid,
  uid text not null,
  sequence integer not null default 0,
  -- When whoever wrote it did: of two with the same sequence, the later counts.
  stamped_at timestamptz,
  title text not null,
  description text,
  location text,
  organizer text,
  organizer_name text,
  -- What addresses are compared by: of the organizer, and of who sent the mail. Only these may change it.
  organizer_key text,
  sender_key text,
  attendees jsonb not null default '[]',
  starts_at timestamptz,
  ends_at timestamptz,
  is_all_day boolean not null default false,
  timezone text,
  recurrence text,
  status text not null default 'confirmed' check (status in ('tentative', 'confirmed', 'cancelled')),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id)
);
create unique index calendar_events_once on calendar_events (project_id, mailbox_id, uid);
create index calendar_events_by_start on calendar_events (project_id, starts_at, id);
create index calendar_events_of_mailbox on calendar_events (project_id, mailbox_id, starts_at, id);

-- Mail from mailboxes to somebody. What a contact has received is counted here and in the ledger when it is asked for: hence the status.
create index emails_to on emails (project_id, to_key, id) include (status) where direction = 'outbound';
-- When somebody first followed a link of it.
alter table deliveries add column clicked_at timestamptz;
-- Of what the ledgers have forgotten (deliveries that were pruned, mailboxes that were emptied): `total_received` holds nothing else, and
-- these two say how much of the totals of opens and clicks is without its rows.
alter table contacts
  add column past_opens integer not null default 0,
  add column past_clicks integer not null default 0;
update contacts c set past_opens = c.total_opens - d.opens, past_clicks = c.total_clicks - d.clicks
from contacts one cross join lateral (
  select coalesce(sum(open_count), 0) as opens, coalesce(sum(click_count), 0) as clicks from deliveries
  where project_id = one.project_id and contact_id = one.id) d
where one.engagement > 0 and c.project_id = one.project_id and c.id = one.id;

-- People who asked to be forgotten, while what is left of them is being erased. The row goes with the last trace.
create table erasures (
  project_id uuid not null,
  id uuid not null,
  contact_id uuid not null,
  email text,
  email_key text,
  created_at timestamptz not null,
  primary key (project_id, id)
);

create table contact_groups (
  project_id uuid not null references projects,
  id uuid not null,
  name text not null,
  contact_count integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id)
);
create unique index contact_groups_name on contact_groups (project_id, lower(name));
create table contact_group_members (
  project_id uuid not null,
  group_id uuid not null,
  contact_id uuid not null,
  added_at timestamptz not null,
  primary key (project_id, group_id, contact_id)
);
create index contact_group_members_by_contact on contact_group_members (project_id, contact_id);
