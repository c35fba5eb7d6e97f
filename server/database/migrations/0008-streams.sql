-- A live stream reads for as long as it is open. Its process may die without a word, so what it wants runs out unless it is renewed.
alter table event_interests add column expires_at timestamptz;
create index event_interests_by_end on event_interests (expires_at) where expires_at is not null;

-- Who comes back to a stream reads what one project has published since, whatever others have.
create index events_of_project on events (project_id, transaction_id, position);
