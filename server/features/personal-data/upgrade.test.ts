import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../../tests/support/database.ts'
import { createEmptyDatabase } from '../../../tests/support/empty-database.ts'
import { migrate } from '../../database/migrate.ts'

/** As the release before left it: one who has changed their address twice, one who writes it in capitals, one who was erased. */
const before = `
  insert into users (id, kind, email, email_key) values (gen_random_uuid(), 'human', 'a@example.org', 'a@example.org');
  insert into projects (id, name, slug, owner_id) select gen_random_uuid(), 'Old', 'old', id from users;
  insert into contacts (project_id, id, email, email_key)
  select p.id, gen_random_uuid(), one || '@example.org', one || '@example.org' from projects p, unnest(array['now', 'bo', 'cy']) as one;
  insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, status, next_attempt_at, settled_at)
  select p.id, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), coalesce(c.id, '00000000-0000-0000-0000-000000000000'), d.email, 'delivered', now(), d.at
  from projects p
  cross join (values ('now', 'First@example.org', '2026-01-01T12:00Z'::timestamptz), ('now', 'second@example.org', '2026-02-01T12:00Z'), ('now', 'second@example.org', '2026-03-01T12:00Z'),
    ('now', 'now@example.org', '2026-04-01T12:00Z'), ('bo', 'BO@example.org', '2026-01-01T12:00Z'), (null, 'erased@erased.invalid', '2026-01-01T12:00Z')) as d (name, email, at)
  left join contacts c on c.project_id = p.id and c.email = d.name || '@example.org'`

test('addresses that people had before the upgrade are known by where their posts went', async (t) => {
  const database = await createEmptyDatabase()
  t.after(() => database.drop())
  await migrate(database.connection, 15)
  await withClient(database.connection, (client) => client.query(before))
  await migrate(database.connection)
  const { rows } = await withClient(database.connection, (client) =>
    client.query(`
      select c.email as person, f.email, f.email_key, (f.left_at at time zone 'UTC')::date::text as left_on
      from former_addresses f join contacts c on c.project_id = f.project_id and c.id = f.contact_id order by f.left_at`),
  )
  assert.deepEqual(rows, [
    { person: 'now@example.org', email: 'First@example.org', email_key: 'first@example.org', left_on: '2026-01-01' },
    { person: 'now@example.org', email: 'second@example.org', email_key: 'second@example.org', left_on: '2026-03-01' },
  ])
})
