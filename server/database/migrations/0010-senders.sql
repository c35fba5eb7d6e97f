-- Domains that lists send from, once DNS shows that whoever named one may. A project has a domain once, for all of its lists.
create table sender_domains (
  project_id uuid not null references projects,
  domain text not null,
  status text not null default 'pending' check (status in ('pending', 'verified', 'failed')),
  created_at timestamptz not null,
  -- When the latest try began: after 72 hours without its records it has failed.
  pending_since timestamptz not null,
  -- When it was last found to be right, for the first time in a row; null while it has never been. A domain that has failed and keeps this
  -- was lost: posts wait for it.
  verified_at timestamptz,
  -- Since when a record of a verified domain is gone, and how many checks have missed it.
  failing_since timestamptz,
  missed_checks integer not null default 0,
  -- Since when a record stands in the way of ours.
  conflict_since timestamptz,
  -- Why it has failed, or cannot be verified: conflict, gone, late, taken.
  trouble text,
  -- What the last check saw of each record.
  findings jsonb not null default '{}',
  last_checked_at timestamptz,
  next_check_at timestamptz not null,
  primary key (project_id, domain)
);
-- Whoever verifies a domain first has it.
create unique index sender_domains_verified on sender_domains (domain) where status = 'verified';
create index sender_domains_due on sender_domains (next_check_at);

alter table lists add column sender_local_part text, add column sender_domain text;
-- Which mailboxes a domain has. By the address that they were made with: one at a domain that has become another project's has a key that
-- nobody asks for.
create index mailboxes_domain on mailboxes (split_part(address, '@', 2), project_id) where deleted_at is null;
create index lists_sender_domain on lists (project_id, sender_domain) where sender_domain is not null;

-- A key waits (`pending`) until its record is seen in DNS. One of a project's own domain that has ever signed says since when.
alter table dkim_keys add column activated_at timestamptz;
alter table dkim_keys drop constraint dkim_keys_status_check;
alter table dkim_keys add constraint dkim_keys_status_check check (status in ('pending', 'active', 'retired'));
create unique index dkim_keys_pending on dkim_keys (project_id, domain, algorithm) where status = 'pending';
