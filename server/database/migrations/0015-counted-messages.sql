-- What strangers' forms and notices may send to one address is counted over all projects, by its kind and time. Alone in its migration: while
-- it is built, the release before reads on, and whoever writes waits. Dropping `messages_confirmations`, which this makes needless, would have
-- readers wait as well, and meet writers crosswise.
create index messages_to_address on messages (recipient_key, kind, created_at);
