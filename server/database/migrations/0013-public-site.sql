-- A list's public site: how it looks, where each post is found on it, and who has seen a post today.

alter table lists
  add column language text not null default 'en',
  add column accent_color text,
  add column logo_url text,
  add column welcome_message text,
  add column footer text;

-- A post's place on the site, made from its subject when it is first shown or sent, and kept for life. Without one, its id is the place.
alter table posts add column slug text;
update posts p set slug = first.slug
from (
  select distinct on (project_id, list_id, slug) project_id, list_id, id, slug
  from (
    select project_id, list_id, id, created_at, trim(both '-' from left(regexp_replace(lower(regexp_replace(
      normalize(regexp_replace(subject, '\{\{.*?\}\}|\{%.*?%\}', '', 'g'), NFKD), '[\u0300-\u036f]', '', 'g')), '[^a-z0-9]+', '-', 'g'), 60)) as slug
    from posts where coalesce(published_at, sent_at) is not null
  ) named
  where slug ~ '[a-z0-9]'
  order by project_id, list_id, slug, created_at, id
) first
where p.project_id = first.project_id and p.list_id = first.list_id and p.id = first.id;
create unique index posts_slug on posts (project_id, list_id, slug) where slug is not null;

-- What is on the site: whatever was published, or has begun to be sent. Newest first; and when any of it last changed, which says whether pages made before are still good.
create index posts_on_site on posts (project_id, list_id, coalesce(published_at, sent_at) desc, id desc)
  where coalesce(published_at, sent_at) is not null;
create index posts_site_changes on posts (project_id, list_id, updated_at) where coalesce(published_at, sent_at) is not null;

-- The words of what is on the site, without tags, of its first fifty thousand letters: a tsvector has an end. Signs become blanks, because
-- what looks like an address or a number to the parser may take it minutes.
create index posts_search on posts using gin (to_tsvector('simple', translate(regexp_replace(left(subject || ' ' || coalesce(preview_text, '')
  || ' ' || coalesce(body_markdown, body_text, body_html, ''), 50000), '<[^<>]*>', ' ', 'g'), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32))))
  where coalesce(published_at, sent_at) is not null;

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
  primary key (project_id, list_id, post_id, day, visitor)
);
create index post_views_by_day on post_views (day);
