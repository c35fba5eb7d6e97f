-- Domains that the sites of lists are shown at, once DNS leads here. A list has one at most.
create table site_domains (
  project_id uuid not null references projects,
  list_id uuid not null,
  domain text not null,
  -- Whether www.domain leads here, too; of a naked domain only.
  www_enabled boolean not null,
  status text not null default 'pending' check (status in ('pending', 'active', 'failed')),
  created_at timestamptz not null,
  -- When the latest try began: after seven days without success it has failed.
  pending_since timestamptz not null,
  -- Since when an active domain leads elsewhere, and how many checks have seen that.
  failing_since timestamptz,
  missed_checks integer not null default 0,
  -- Why it has failed, or is not active any more: gone, late, moved, orders.
  trouble text,
  -- What showed that a naked domain belongs to whoever connected it: the TXT record for its certificate, or one of its own. Others show it by
  -- where their CNAME points.
  proved_by text check (proved_by in ('certificate', 'record')),
  -- The value of the TXT record for the certificate, as its owner was last told.
  challenge text,
  -- What the last check saw of each record.
  findings jsonb not null default '{}',
  last_checked_at timestamptz,
  -- Null: only when somebody asks.
  next_check_at timestamptz,
  primary key (project_id, list_id)
);
create index site_domains_domain on site_domains (domain);
create index site_domains_due on site_domains (next_check_at) where next_check_at is not null;

-- Whose a host is, as DNS has shown. A host leads to one site whoever owns it, so it is the key.
create table site_hosts (
  host text primary key,
  project_id uuid not null references projects,
  list_id uuid not null
);
create index site_hosts_of_list on site_hosts (project_id, list_id);
