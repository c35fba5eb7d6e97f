-- While mail comes in, looking after these tables took PostgreSQL a fifth of its time, and nobody gained by it.
-- Pieces of long values are never changed, and no query reads them from an index alone: they need no vacuum but the one that removes deleted ones, and the one against
-- wraparound. Events are deleted before they are old enough to matter to that.
alter table emails set (toast.autovacuum_vacuum_insert_threshold = -1);
alter table inbound_spool set (toast.autovacuum_vacuum_insert_threshold = -1);
alter table events set (autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_vacuum_insert_threshold = -1);
-- What a planner knows of them stays true while they grow by a half.
alter table emails set (autovacuum_analyze_scale_factor = 0.5);
alter table inbound_spool set (autovacuum_analyze_scale_factor = 0.5);
alter table events set (autovacuum_analyze_scale_factor = 0.5);
-- No query asks what these hold, and PostgreSQL sorts thirty thousand of them each time.
alter table emails alter verdicts set statistics 0, alter attachments set statistics 0, alter handler_results set statistics 0, alter extracted_data set statistics 0,
  alter reference_ids set statistics 0, alter metadata set statistics 0;
alter table inbound_spool alter peer set statistics 0, alter recipients set statistics 0;
alter table events alter data set statistics 0, alter items set statistics 0;
