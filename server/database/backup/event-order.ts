import type { Client } from 'pg'
import { columnList } from './catalogue.ts'

/**
 * An event's place is (transaction_id, position), and a consumer has seen all up to its cursor. Transaction ids are the old server's: on
 * the new one they may lie in the future, where events wait for ever, and new events would come before them.
 *
 * So all loaded events get one id from before any transaction of the new server, and positions 1, 2, 3, … in the old order, which can
 * differ from the order of the old positions. A cursor is then that id and the number of events it had passed. Every new event has a
 * higher id and comes after all of these.
 *
 * `event-order.test.ts` fails when another column holds a transaction id: it needs the same care.
 */
const beforeAll = '3' // the first id PostgreSQL hands out (FirstNormalTransactionId), used up while a server is being made

/** Events are loaded here first: `position` is the database's to give, and only an insert may overrule it. */
export const stageEvents = (client: Client) => client.query('create temp table restored_events (like public.events) on commit drop')

export async function insertStagedEvents(client: Client, columns: string[]): Promise<void> {
  const others = columnList(columns.filter((name) => name !== 'transaction_id' && name !== 'position'))
  await client.query(`
    insert into public.events (${others}, transaction_id, position) overriding system value
    select ${others}, '${beforeAll}', row_number() over (order by transaction_id, position) from restored_events order by transaction_id, position`)
}

/** Once events and cursors are both there. */
export const moveCursors = (client: Client) =>
  client.query(`
    update public.event_consumers c set transaction_id = '${beforeAll}',
      position = (select count(*) from restored_events e where (e.transaction_id, e.position) <= (c.transaction_id, c.position))`)
