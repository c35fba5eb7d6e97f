-- A small message stays where it was stored before its 250: once filed, its row in the spool is what keeps it (`emails.raw_key` names it).
-- Such a row has a project and is never due. A process of the release before files by taking rows out, and knows nothing of kept ones: a
-- row changes its id when it is filed, so that whoever else was at the same message finds none.
alter table inbound_spool
  -- Whose it is, once it is filed.
  add column project_id uuid,
  alter column next_attempt_at drop not null;
-- What waits is few among many that are kept.
create index inbound_spool_waiting on inbound_spool (next_attempt_at) where next_attempt_at is not null;
drop index inbound_spool_due;
create index inbound_spool_kept on inbound_spool (project_id, id) where project_id is not null;
-- Each message leaves one dead row behind, however many are kept.
alter table inbound_spool set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000);
