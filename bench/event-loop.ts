import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Loaded into a program that is measured: tells how late its event loop was, and how much it computed, since the last question. */
const histogram = monitorEventLoopDelay({ resolution: 5 })
histogram.enable()
let before = process.cpuUsage()
process.on('message', () => {
  const { user, system } = process.cpuUsage(before)
  process.send?.({ p99: histogram.percentile(99) / 1e6, max: histogram.max / 1e6, cpuMs: (user + system) / 1000 })
  before = process.cpuUsage()
  histogram.reset()
})
