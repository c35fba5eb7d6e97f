-- What visitors do on public pages, and readers behind the links of their mail.

alter table posts add column likes bigint not null default 0;

-- Who liked what today, by hashes with that day's salt, as of views (0013). `peer` is of the network address alone: one place has some readers
-- at most, however many browsers it says to have.
create unlogged table post_likes (
  project_id uuid not null,
  list_id uuid not null,
  post_id uuid not null,
  day date not null,
  visitor bytea not null,
  peer bytea not null,
  primary key (project_id, list_id, post_id, day, visitor)
);
create index post_likes_peer on post_likes (project_id, list_id, post_id, day, peer);
create index post_likes_by_day on post_likes (day);

-- Why they left, in their own words; until when they want no mail.
alter table subscribers
  add column unsubscribe_reason text,
  add column paused_until timestamptz;
create index subscribers_paused on subscribers (project_id, list_id, paused_until) where paused_until is not null;
