-- Addresses that people had before they changed them, kept for as long as the people are: by these, too, everything of theirs is found when
-- they ask for it, or to be forgotten. Of several who had one address after another it is the last one's.
create table former_addresses (
  project_id uuid not null,
  email_key text not null,
  contact_id uuid not null,
  email text not null,
  left_at timestamptz not null,
  primary key (project_id, email_key)
);
create index former_addresses_by_contact on former_addresses (project_id, contact_id);

-- Who changed it before this was there: the ledgers of posts know where their mail went.
insert into former_addresses (project_id, email_key, contact_id, email, left_at)
select distinct on (d.project_id, lower(d.email)) d.project_id, lower(d.email), d.contact_id, d.email, coalesce(d.settled_at, d.next_attempt_at)
from deliveries d join contacts c on c.project_id = d.project_id and c.id = d.contact_id
where lower(d.email) <> lower(c.email) and lower(d.email) <> c.email_key
order by d.project_id, lower(d.email), coalesce(d.settled_at, d.next_attempt_at) desc;

-- The same of somebody who is being erased: [{"email": …, "email_key": …}]. Last, because others wait for the table from here on.
alter table erasures add column former jsonb not null default '[]';
