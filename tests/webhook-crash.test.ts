import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { killDispatchers } from './crash/webhooks.ts'
import { cloneDatabase } from './support/database.ts'

/** The short form of what `npm run test:crash` does to webhooks. */
const { connection, drop } = await cloneDatabase()
after(drop)

test('while two processes that deliver webhooks are killed four times, every event reaches every endpoint, and repeats say that they are', async (t) => {
  const { deliveries, repeats, problems } = await killDispatchers(connection, { kills: 4 })
  t.diagnostic(`${deliveries} deliveries; ${repeats} requests came again under the same delivery id`)
  assert.deepEqual(problems, [])
})
