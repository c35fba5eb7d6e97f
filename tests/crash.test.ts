import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { scenarios } from './crash/scenarios.ts'
import { startStage } from './crash/stage.ts'
import { cloneDatabase } from './support/database.ts'

/** The short form of `npm run test:crash`: real processes, one of them killed in the middle of a broadcast, four times. */
const { connection, drop } = await cloneDatabase()
const stage = await startStage(connection)
after(async () => {
  await stage.stop()
  await drop()
})

test('a sender that is killed four times sends 2,000 messages, each once but for those in doubt', async (t) => {
  const verdict = await scenarios[0]?.run(stage, { recipients: 2_000, kills: 4 })
  assert.ok(verdict)
  t.diagnostic(`${verdict.repeats} came twice; ${verdict.unanswered} were unanswered when their sender died`)
  assert.deepEqual(verdict.problems, [])
  assert.equal(verdict.delivered, 2_000)
})
