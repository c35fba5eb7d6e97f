-- A list's public site: how it looks, where each post is found on it, and who has seen a post today.

alter table lists
  add column language text not null default 'en',
  add column accent_color text,
  add column logo_url text,
  add column welcome_message text,
  add column footer text;

-- A post's place on the site, made from its subject when it is first shown or sent, and kept for life. Without one, its id is the place. What a subject
-- says under a condition may be meant for some alone.
alter table posts add column slug text;
update posts p set slug = first.slug
from (
  select distinct on (project_id, list_id, slug) project_id, list_id, id, slug
  from (
    select project_id, list_id, id, created_at, trim(both '-' from left(regexp_replace(lower(regexp_replace(
      normalize(regexp_replace(subject, '\{\{.*?\}\}', '', 'g'), NFKD), '[\u0300-\u036f]', '', 'g')), '[^a-z0-9]+', '-', 'g'), 60)) as slug
    from posts where coalesce(published_at, sent_at) is not null and position('{%' in subject) = 0
  ) named
  where slug ~ '[a-z0-9]'
  order by project_id, list_id, slug, created_at, id
) first
where p.project_id = first.project_id and p.list_id = first.list_id and p.id = first.id;
create unique index posts_slug on posts (project_id, list_id, slug) where slug is not null;

-- What the site shows of a post beside its page, as somebody reads it of whom nothing is known: made with the page's own engine when it comes onto the site,
-- because SQL cannot tell what a post says to whom. Null in what was there before the upgrade: a job fills that in. A post with `hidden_at` was taken off the site.
alter table posts
  add column site_title text,
  add column site_excerpt text,
  add column site_words tsvector,
  add column hidden_at timestamptz;
create index posts_undescribed on posts (id) where site_title is null and coalesce(published_at, sent_at) is not null;
create index posts_search on posts using gin (site_words);

-- What is on the site: whatever was published, or has begun to be sent. Newest first; and when any of it last changed or was taken off, which says whether pages made
-- before are still good.
create index posts_on_site on posts (project_id, list_id, coalesce(published_at, sent_at) desc, id desc)
  where coalesce(published_at, sent_at) is not null and hidden_at is null;
create index posts_site_changes on posts (project_id, list_id, updated_at) where slug is not null or coalesce(published_at, sent_at) is not null;

-- Visitors are told apart for a day, by hashes with that day's salt; with the salt gone, nobody can be found again. Neither is in a backup.
create unlogged table visitor_salts (
  day date primary key,
  salt bytea not null
);
create unlogged table post_views (
  project_id uuid not null,
  list_id uuid not null,
  post_id uuid not null,
  day date not null,
  visitor bytea not null,
  -- Of the network address alone: one place has some readers at most, however many browsers it says to have.
  peer bytea not null,
  primary key (project_id, list_id, post_id, day, visitor)
);
create index post_views_peer on post_views (project_id, list_id, post_id, day, peer);
create index post_views_by_day on post_views (day);
