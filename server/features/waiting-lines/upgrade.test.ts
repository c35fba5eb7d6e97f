import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withClient } from '../../../tests/support/database.ts'
import { createEmptyDatabase } from '../../../tests/support/empty-database.ts'
import { systemClock } from '../../base/clock.ts'
import { newId } from '../../base/ids.ts'
import { createLog } from '../../base/log.ts'
import { openDatabase } from '../../database/database.ts'
import { migrate } from '../../database/migrate.ts'
import { buildLines } from './build-lines.ts'

test('who is on a waitlist when lines come stands in the order of joining', async () => {
  const database = await createEmptyDatabase()
  try {
    await migrate(database.connection, 6)
    await withClient(database.connection, async (client) => {
      const [user, project, waitlist, news, mailbox] = [newId(), newId(), newId(), newId(), newId()]
      await client.query(`insert into users (id, kind, slug) values ($1, 'human', 'ann')`, [user])
      await client.query(`insert into projects (id, name, slug, owner_id) values ($1, 'P', 'p', $2)`, [project, user])
      for (const [id, name, type] of [
        [waitlist, 'launch', 'waitlist'],
        [news, 'news', 'newsletter'],
      ])
        await client.query(
          `insert into lists (project_id, id, name, subdomain, type, mailbox_id) values ($1, $2, $3::text, $3::text, $4, $5)`,
          [project, id, name, type, mailbox],
        )
      await client.query(
        `insert into subscribers (project_id, list_id, id, contact_id, email, email_key, status, created_at)
         select $1, list, gen_random_uuid(), gen_random_uuid(), n || '@example.org', n || '@example.org',
           (array['active', 'active', 'pending', 'unsubscribed'])[1 + n % 4], now() - n * interval '1 minute'
         from unnest($2::uuid[]) list, generate_series(1, 2000) n`,
        [project, [waitlist, news]],
      )
      await migrate(database.connection)
      const built = openDatabase({ connection: database.connection, clock: systemClock, log: createLog('silent') })
      // Two processes start at once.
      await Promise.all([buildLines(built), buildLines(built)])
      await built.close()
      const { rows } = await client.query(`
        select (select count(*)::int from waitlist_entries) as entries, (select count(*)::int from waitlist_entries where not is_confirmed) as pending,
          (select sum(waiting)::int from waitlist_buckets) as in_buckets, (select count(*)::int from waitlist_buckets) as buckets,
          (select waiting::int from waitlist_lines) as waiting, (select confirmed::int from waitlist_lines) as confirmed,
          (select bool_and(l.last_place >= e.place) from waitlist_entries e, waitlist_lines l) as ends_there,
          (select string_agg(email, ' ') from (
            select s.email from waitlist_entries e join subscribers s on s.id = e.subscriber_id order by e.place limit 3) first) as first`)
      assert.deepEqual(rows, [
        {
          entries: 1500,
          pending: 500,
          in_buckets: 1500,
          buckets: 2,
          waiting: 1500,
          confirmed: 1000,
          ends_there: true,
          first: '2000@example.org 1998@example.org 1997@example.org',
        },
      ])
    })
  } finally {
    await database.drop()
  }
})
