-- Waitlists: lists on which people stand in line. An entry is a subscriber with a place; who leaves while waiting has no entry any more.

-- One row for each line. Whoever changes the line holds it until the commit, so that the order is total and the counts are exact.
create table waitlist_lines (
  project_id uuid not null,
  list_id uuid not null,
  -- The place that was handed out last. The next one is a gap behind it.
  last_place bigint not null default 0,
  waiting bigint not null default 0,
  -- Of those who wait.
  confirmed bigint not null default 0,
  -- Who was ever invited, and of those who has accepted.
  invited bigint not null default 0,
  accepted bigint not null default 0,
  -- False for a list that is older than lines: who is on it gets a place when the first process that knows of lines starts.
  is_built boolean not null default true,
  primary key (project_id, list_id)
) with (fillfactor = 50);

create table waitlist_entries (
  project_id uuid not null,
  list_id uuid not null,
  subscriber_id uuid not null,
  status text not null default 'waiting' check (status in ('waiting', 'invited', 'accepted')),
  is_confirmed boolean not null,
  -- Who waits stands in the order of this. Numbers have gaps, so that somebody who moves up fits between two others.
  place bigint not null,
  -- 66 random bits as 11 letters and digits: short enough to be read out, too many to be guessed.
  referral_code text not null default left(translate(encode(decode(md5(gen_random_uuid()::text), 'hex'), 'base64'), '+/=', 'xyz'), 11),
  referral_count integer not null default 0,
  -- Whose link they came by, and a keyed hash of where they came from: both are looked at when they confirm.
  referred_by uuid,
  joined_from bytea,
  -- False for an agent that no human had claimed when it joined: there can be any number of them, and they would fill the list.
  takes_place boolean not null default true,
  -- Invited, and the mail that says so is not queued yet.
  is_mail_due boolean not null default false,
  -- Left after they were invited: still counted as that, and nothing else. Who comes back gets a new entry.
  has_left boolean not null default false,
  joined_at timestamptz not null,
  invited_at timestamptz,
  accepted_at timestamptz,
  primary key (project_id, list_id, subscriber_id)
);
create index waitlist_entries_line on waitlist_entries (project_id, list_id, place) where status = 'waiting';
create unique index waitlist_entries_code on waitlist_entries (project_id, list_id, referral_code);
create index waitlist_entries_top on waitlist_entries (project_id, list_id, referral_count desc, subscriber_id) where referral_count > 0;
create index waitlist_entries_unconfirmed on waitlist_entries (project_id, list_id, joined_at) where status = 'waiting' and not is_confirmed;
create index waitlist_entries_placeless on waitlist_entries (project_id, list_id) where status = 'waiting' and not takes_place;
create index waitlist_entries_mail_due on waitlist_entries (project_id, list_id, place) where is_mail_due;

-- How many wait from one place up to the next bucket's. A position is the sum of the buckets before, and a count within one.
create table waitlist_buckets (
  project_id uuid not null,
  list_id uuid not null,
  start bigint not null,
  waiting integer not null,
  primary key (project_id, list_id, start)
) with (fillfactor = 50);

-- Who has moved somebody up, by a keyed hash of the address behind all its spellings: nobody does it twice, however often they join.
create table waitlist_referrals (
  project_id uuid not null,
  list_id uuid not null,
  person bytea not null,
  subscriber_id uuid not null,
  referrer_id uuid not null,
  joined_from bytea,
  -- A keyed hash; null for that of a large provider.
  domain bytea,
  at timestamptz not null,
  primary key (project_id, list_id, person)
);
create index waitlist_referrals_referrer on waitlist_referrals (project_id, list_id, referrer_id, at);
create index waitlist_referrals_subscriber on waitlist_referrals (project_id, list_id, subscriber_id);

-- Who tried to join a list from where within the last hours, whatever came of it: one place gets only so many.
create table list_joins (
  project_id uuid not null,
  list_id uuid not null,
  joined_from bytea not null,
  joined_at timestamptz not null,
  -- False for an agent that joins as itself: it gets none, and uses up nobody's.
  asks_for_mail boolean not null
);
create index list_joins_from on list_joins (project_id, list_id, joined_from, joined_at);
create index list_joins_of_project on list_joins (project_id, joined_at);
create index list_joins_by_age on list_joins (joined_at);

insert into waitlist_lines (project_id, list_id, is_built) select project_id, id, false from lists where type = 'waitlist' and deleted_at is null;

-- Joining asks whether a human has claimed the agent.
create index agent_registrations_claimed on agent_registrations (user_id) where claimed_at is not null;
create unique index contacts_agent on contacts (project_id, agent_id) where agent_id is not null;
-- Joining names a list of whichever project.
create index lists_by_id on lists (id);
-- Last, so that nobody waits for what is made above.
alter table lists
  add column waitlist_capacity integer check (waitlist_capacity > 0),
  add column referral_boost smallint not null default 3 check (referral_boost between 0 and 50),
  add column waitlist_closed boolean not null default false;
