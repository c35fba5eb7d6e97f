import { Worker } from 'node:worker_threads'

const current = new Int32Array(new SharedArrayBuffer(4))
const count = 24000
const w = new Worker(new URL('./tests/support/fuzz-mail.ts', import.meta.url), {
  workerData: { firstSeed: 1, count, current },
  resourceLimits: { maxOldGenerationSizeMb: 512 },
})
const t = setInterval(
  () =>
    console.log(
      Math.round(performance.now() / 1000) + 's',
      Atomics.load(current, 0),
      Math.round(process.memoryUsage.rss() / 2 ** 20) + ' MB',
    ),
  6000,
)
w.on('message', (r) => {
  console.log(r.slowest, r.given_up, r.problems.length, Math.round(process.memoryUsage.rss() / 2 ** 20))
  clearInterval(t)
  w.terminate()
})
