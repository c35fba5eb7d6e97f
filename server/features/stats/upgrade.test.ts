import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withClient } from '../../../tests/support/database.ts'
import { createEmptyDatabase } from '../../../tests/support/empty-database.ts'
import { startApp } from '../../../tests/support/posthaste.ts'
import { migrate } from '../../database/migrate.ts'
import { wrongHours } from '../../delivery/broadcast/repair-hours.ts'
import { wrongContactCounts } from '../contacts/contact-counter.ts'
import { wrongTotals } from '../contacts/repair-contacts.ts'
import { wrongCounts } from '../lists/list-counters.ts'
import { wrongDays } from '../lists/list-days.ts'

/** As the release before left it. */
const before = `
  insert into contacts (project_id, id, email, email_key, total_replies, last_activity_at)
  select id, gen_random_uuid(), n || '@example.org', n || '@example.org', case n when 1 then 3 else 0 end, now() from projects, generate_series(1, 6) as n;
  insert into lists (project_id, id, name, subdomain, type, mailbox_id) select id, gen_random_uuid(), 'News', 'news', 'newsletter', gen_random_uuid() from projects;
  insert into subscribers (project_id, list_id, id, contact_id, email, email_key, status, subscribed_at, unsubscribed_at, created_at)
  select l.project_id, l.id, gen_random_uuid(), c.id, c.email, c.email_key, s.status, s.subscribed_at, s.unsubscribed_at, '2026-01-01T10:00Z'
  from lists l join contacts c on c.project_id = l.project_id
  join (values ('1@example.org', 'active', '2026-01-02T23:59:59Z'::timestamptz, null::timestamptz), ('2@example.org', 'active', null, null),
    ('3@example.org', 'unsubscribed', '2026-01-02T00:00Z', '2026-01-05T12:00Z'), ('4@example.org', 'unsubscribed', '2026-01-03T00:00Z', null),
    ('5@example.org', 'bounced', '2026-01-03T12:00Z', null), ('6@example.org', 'pending', null, null)) as s (email, status, subscribed_at, unsubscribed_at)
    on s.email = c.email;
  insert into list_counters (project_id, list_id, slot, active, pending, unsubscribed, bounced) select project_id, id, 3, 2, 1, 2, 1 from lists;
  insert into broadcasts (project_id, id, list_id, post_id, status, source, recipients, delivered, bounced, complained, opened, clicked, created_at, finished_at)
  select project_id, gen_random_uuid(), id, gen_random_uuid(), 'done', '{}', 9, 6, 1, 1, 4, 2, '2026-01-04T08:20Z', '2026-01-04T08:30Z' from lists`

test('what there was before the upgrade is in the numbers, and all of them are proved', async () => {
  const database = await createEmptyDatabase()
  await migrate(database.connection, 5)
  await withClient(database.connection, async (client) => {
    await client.query(
      `insert into users (id, kind, email, email_key) values (gen_random_uuid(), 'human', 'a@example.org', 'a@example.org')`,
    )
    await client.query(`insert into projects (id, name, slug, owner_id) select gen_random_uuid(), 'Old', 'old', id from users`)
    await client.query(before)
  })
  const app = await startApp({ ROLES: 'http' }, { connection: database.connection })
  after(async () => {
    await app.stop()
    await database.drop()
  })
  const db = app.services.database
  assert.deepEqual(
    {
      counts: await wrongCounts(db),
      days: await wrongDays(db),
      contacts: await wrongContactCounts(db),
      totals: await wrongTotals(db, new Date(0)),
      hours: await wrongHours(db, new Date(0)),
    },
    { counts: [], days: [], contacts: [], totals: [], hours: [] },
  )
  const days = await db.many`
    select to_char(day, 'MM-DD') as day, sum(subscribed)::int as subscribed, sum(unsubscribed)::int as unsubscribed, sum(active)::int as active
    from list_days group by 1 order by 1`
  assert.deepEqual(days, [
    { day: '01-01', subscribed: 1, unsubscribed: 0, active: 1 },
    { day: '01-02', subscribed: 2, unsubscribed: 0, active: 2 },
    { day: '01-03', subscribed: 2, unsubscribed: 1, active: 0 },
    { day: '01-05', subscribed: 0, unsubscribed: 1, active: -1 },
  ])
  assert.deepEqual(await db.many`select hour, delivered, bounced, complained, opened, clicked, unsubscribed from broadcast_hours`, [
    { hour: new Date('2026-01-04T08:00Z'), delivered: 7, bounced: 1, complained: 1, opened: 4, clicked: 2, unsubscribed: 0 },
  ])
})
