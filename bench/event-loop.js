import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

// Plain JavaScript: TypeScript would load its compiler into the program, and 30 MB with it.
/** Loaded into a program that is measured: tells how late the loop that serves requests was, and how much all of it computed, since the last question. */
if (isMainThread) {
  const histogram = monitorEventLoopDelay({ resolution: 5 })
  histogram.enable()
  let before = process.cpuUsage()
  process.on('message', () => {
    const { user, system } = process.cpuUsage(before)
    process.send?.({ p99: histogram.percentile(99) / 1e6, max: histogram.max / 1e6, cpuMs: (user + system) / 1000 })
    before = process.cpuUsage()
    histogram.reset()
  })
}
