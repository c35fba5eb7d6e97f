import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cloneDatabase } from '../../tests/support/database.ts'
import { createTestClock } from '../../tests/support/posthaste.ts'
import { newId } from '../base/ids.ts'
import { createLog } from '../base/log.ts'
import { openDatabase } from '../database/database.ts'
import { countMessages, enqueueMessage } from './enqueue.ts'

const clock = createTestClock()
const { connection, drop } = await cloneDatabase()
const database = openDatabase({ connection, clock, log: createLog('silent') })
test.after(async () => {
  await database.close()
  await drop()
})

test('messages are counted by kind and time, of one project or of all', async () => {
  const [one, other] = [newId<'prj'>(), newId<'prj'>()]
  const from = { name: 'News', address: 'news@posthaste.test' }
  const mail = { from, to: 'Ann@Example.org', reply_to: null, subject: 'Hello', text: 'Hi', html: null, headers: {} }
  const since = new Date(clock.now().getTime() - 1)
  await database.transaction(async (tx) => {
    await enqueueMessage(tx, { project_id: one, kind: 'reminder', mail })
    await enqueueMessage(tx, { project_id: one, kind: 'invite', mail })
    await enqueueMessage(tx, { project_id: other, kind: 'reminder', mail })
    const toAnn = { kind: 'reminder', since, recipient_key: 'ann@example.org' }
    assert.equal(await countMessages(tx, toAnn), 2)
    assert.equal(await countMessages(tx, { ...toAnn, project_id: one }), 1)
    assert.equal(await countMessages(tx, { kind: 'reminder', since, project_id: other }), 1)
    assert.equal(await countMessages(tx, { ...toAnn, since: new Date(clock.now().getTime() + 1) }), 0)
    assert.equal(await countMessages(tx, { ...toAnn, recipient_key: 'bob@example.org' }), 0)
  })
})

test('what one address got is found by an index, however many projects there are', async () => {
  await database.run`
    insert into messages (project_id, id, kind, recipient, recipient_key, mail, status, created_at)
    select gen_random_uuid(), gen_random_uuid(), 'reminder', address, address, '{}', 'delivered', now()
    from (select 'reader-' || n % 500 || '@example.org' as address from generate_series(1, 10000) as n) sent`
  await database.execute('analyze messages')
  await database.transaction(async (tx) => {
    const recipient_key = 'reader-7@example.org'
    assert.equal(await countMessages(tx, { kind: 'reminder', since: new Date(0), recipient_key }), 20)
    // The statement itself, as this connection has prepared it.
    const [prepared] = await tx.many<{ name: string }>`
      select name from pg_prepared_statements
      where statement like '%count(*) as count from messages where kind%' and statement like '%recipient_key%' and statement not like '%project_id%'`
    const { rows } = await tx.client.query(`explain execute "${prepared?.name}" ('reminder', '1970-01-01', '${recipient_key}')`)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    assert.match(plan, / messages_to_address /)
    assert.match(plan, /Index Cond: .*recipient_key.*kind.*created_at/)
  })
})
