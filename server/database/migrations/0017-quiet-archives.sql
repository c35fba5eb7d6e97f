-- Before 0.6.0 no list had a public site: what it had mailed was for those who got it. An upgrade shows none of that to the world; who wants the archive sets
-- `show_posts` again. A database without lists, such as a new one, stays as it is.
update lists set show_posts = false
where show_posts and exists (select 1 from posts where posts.project_id = lists.project_id and posts.list_id = lists.id and posts.status in ('published', 'sent'));
