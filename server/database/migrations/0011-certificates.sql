-- Our accounts with certificate authorities: one for each directory, shared by all processes.
create table acme_accounts (
  directory text primary key,
  -- Sealed (base/secrets.ts). It is made before the authority hears of it, so that who is killed in between finds the same account again.
  private_key bytea not null,
  -- Where the authority keeps the account; null until it has answered.
  url text,
  created_at timestamptz not null
);

-- The certificate of a host: the one that is served and the order for the next. A host leads to one place whoever owns it, so it is the key;
-- the project is the one that may ask about it, and null for the hosts of this installation itself.
create table certificates (
  host text primary key,
  project_id uuid references projects,
  -- Where the host must lead before the authority is asked to look there. Null: anywhere.
  target text,
  challenges text[] not null check (challenges <@ array['http-01', 'dns-01'] and cardinality(challenges) > 0),

  -- What is served, all or nothing. The key is sealed.
  private_key bytea,
  chain text,
  not_before timestamptz,
  not_after timestamptz,
  issued_at timestamptz,
  renew_at timestamptz,

  -- Whether the project has shown whose the host is, by a TXT record that an order of its own asked for. That a certificate was issued does not
  -- say so: authorities use again what was proved before, and all projects share one account.
  is_proved boolean not null default false,

  -- The order under way (features/certificates/steps.ts), with the sealed key of the certificate to come.
  step text not null default 'idle'
    check (step in ('idle', 'ordered', 'proving', 'checking', 'finalizing', 'issuing', 'downloading')),
  step_since timestamptz not null,
  ordered jsonb,
  order_key bytea,

  -- When somebody is to look again, who is looking, and until when that counts by the clock of the database.
  due_at timestamptz not null,
  lease_owner uuid,
  leased_until timestamptz,
  -- Not before then, whoever asks: the authority said so.
  held_until timestamptz,
  -- Orders in a row that came to nothing, and when the last few did.
  failures integer not null default 0,
  failed_at timestamptz[] not null default '{}',
  -- When the last few orders were placed, whatever became of them.
  begun_at timestamptz[] not null default '{}',
  -- Attempts in a row that say nothing about the host.
  troubles integer not null default 0,
  problem text,
  -- How often the owner was told that the certificate is about to end.
  warnings smallint not null default 0,
  created_at timestamptz not null,
  check ((private_key is null) = (chain is null) and (chain is null) = (not_after is null) and (chain is null) = (not_before is null)
    and (chain is null) = (issued_at is null) and (chain is null) = (renew_at is null))
);
create index certificates_due on certificates (due_at);
create index certificates_of_project on certificates (project_id);

-- What bounds the orders for a host outlives its certificate: whoever has one forgotten and asks for another has used their share all the same.
create table certificate_bounds (
  host text primary key,
  -- When the last few orders were placed.
  begun_at timestamptz[] not null default '{}',
  -- Not before then: the authority said so.
  held_until timestamptz,
  -- From then on nothing of it counts.
  kept_until timestamptz not null
);
create index certificate_bounds_by_end on certificate_bounds (kept_until);

-- New certificates of the last week for sites below our own host: authorities bound them for a whole domain. Whoever deletes what they
-- ordered has used their share all the same, so this outlives lists and projects.
create table subdomain_orders (
  host text not null,
  -- The person whose projects and agents have one share.
  person_id uuid not null,
  ordered_at timestamptz not null
);
create index subdomain_orders_by_time on subdomain_orders (ordered_at);

-- What any process answers at /.well-known/acme-challenge/{token}.
create table acme_challenges (
  token text primary key,
  host text not null references certificates on delete cascade,
  key_authorization text not null,
  created_at timestamptz not null
);
create index acme_challenges_of_host on acme_challenges (host);
