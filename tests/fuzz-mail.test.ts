import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { FuzzOrder, FuzzReport } from './support/fuzz-mail.ts'

/** `npm run test:fuzz` reads 50,000; FUZZ_SEED=… FUZZ_COUNT=1 repeats one. */
const count = Number(process.env.FUZZ_COUNT ?? 1_500)
const firstSeed = Number(process.env.FUZZ_SEED ?? 1)
/** Of processor time: for one reading, or one cleaning of its HTML. */
const maxMs = 1_000
/** Far above that, because the machine may be busy. */
const hangTicks = 60
/** The heap may have as much as in the program; what it keeps of each mail would show in the second half of them. */
const maxGrownMb = 700
const maxGrownLaterMb = 200

test(`${count} mutated messages are read without a crash, a hang or a flood`, { timeout: 3_600_000 }, async (context) => {
  const current = new Int32Array(new SharedArrayBuffer(4))
  const order: FuzzOrder = { firstSeed, count, current }
  const before = process.memoryUsage.rss()
  const worker = new Worker(new URL('./support/fuzz-mail.ts', import.meta.url), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  const ended = new Promise<FuzzReport>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', (error) => reject(new Error(`seed ${current[0]}: the thread died: ${error.message}`, { cause: error })))
  })
  const report = await Promise.race([ended, watch(current, worker)])
  await worker.terminate()
  assert.deepEqual(report.problems, [])
  assert.ok(report.slowest.ms < maxMs, `seed ${report.slowest.seed} took ${Math.round(report.slowest.ms)} ms of processor time`)
  const grownMb = (process.memoryUsage.rss() - before) / 2 ** 20
  assert.ok(grownMb < maxGrownMb, `grew by ${Math.round(grownMb)} MB`)
  const laterMb = report.end_mb - report.half_mb
  assert.ok(laterMb < maxGrownLaterMb, `grew by ${Math.round(laterMb)} MB in the second half`)
  context.diagnostic(
    `slowest: seed ${report.slowest.seed} with ${Math.round(report.slowest.ms)} ms; ${report.given_up} by their head only; grown by ${Math.round(grownMb)} MB, in the second half by ${Math.round(laterMb)} MB`,
  )
})

/** Resolves never: it rejects when a seed stays too long, counted by ticks, so that a machine that slept accuses nobody. */
async function watch(current: Int32Array, worker: Worker): Promise<never> {
  for (let seen = 0, ticks = 0; ; ) {
    await sleep(500, undefined, { ref: false })
    const seed = Atomics.load(current, 0)
    ticks = seed === seen ? ticks + 1 : 0
    seen = seed
    if (ticks < hangTicks) continue
    await worker.terminate()
    throw new Error(`seed ${seed} hangs: FUZZ_SEED=${seed} FUZZ_COUNT=1 npm run test:fuzz`)
  }
}
