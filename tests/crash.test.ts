import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { scenarios } from './crash/scenarios.ts'
import { startStage } from './crash/stage.ts'
import { cloneDatabase } from './support/database.ts'

/** The short form of `npm run test:crash`: real processes, of which some are killed, or have their clock set, in the middle of a broadcast. */
const { connection, drop } = await cloneDatabase()
const stage = await startStage(connection)
after(async () => {
  await stage.stop()
  await drop()
})

const run = (word: string, size: { recipients: number; kills: number }) => {
  const scenario = scenarios.find(({ name }) => name.includes(word))
  assert.ok(scenario, `no scenario is named ${word}`)
  return scenario.run(stage, size)
}

test('a sender that is killed four times sends 2,000 messages, each once but for those in doubt', async (t) => {
  const verdict = await run('one sender', { recipients: 2_000, kills: 4 })
  t.diagnostic(`${verdict.repeats} came twice; ${verdict.unanswered} were unanswered when their sender died`)
  assert.deepEqual(verdict.problems, [])
  assert.equal(verdict.delivered, 2_000)
})

test('when one of two senders on one folder is gone for good, the other reads its journal: 3,000 messages, each once but for those in doubt', async (t) => {
  const verdict = await run('on one folder', { recipients: 3_000, kills: 1 })
  t.diagnostic(`${verdict.repeats} came twice; ${verdict.unanswered} were unanswered when their sender died`)
  assert.deepEqual(verdict.problems, [])
  assert.equal(verdict.delivered, 3_000)
})

test('two senders whose clocks are hours apart and jump send 3,000 messages, each once', async () => {
  const { delivered, repeats, problems } = await run('clocks', { recipients: 3_000, kills: 6 })
  assert.deepEqual({ delivered, repeats, problems }, { delivered: 3_000, repeats: 0, problems: [] })
})
