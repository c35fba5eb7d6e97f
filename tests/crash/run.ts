import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { createLog } from '../../server/base/log.ts'
import { startEmbeddedServer } from '../../server/database/embedded/index.ts'
import { readPostmasterFile } from '../../server/database/embedded/leftover.ts'
import { migrate } from '../../server/database/migrate.ts'
import { isProcess } from '../support/embedded-servers.ts'
import type { Verdict } from './judge.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { startStage, stateOf } from './stage.ts'
import { killDispatchers } from './webhooks.ts'

/**
 * `npm run test:crash`: every scenario with 20,000 recipients and 20 kills, on a PostgreSQL of its own with its durable settings.
 * `npm run test:crash -- WORD` runs those whose name has the word. RECIPIENTS and KILLS change the size.
 */
const recipients = Number(process.env.RECIPIENTS ?? 20_000)
const kills = Number(process.env.KILLS ?? 20)
const word = process.argv[2] ?? ''
const webhooks = 'two processes that deliver webhooks are killed at random'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-crash-'))
// As root the server runs as another user, who must be able to enter.
chmodSync(folder, 0o711)
const dataDir = join(folder, 'data')
const server = await startEmbeddedServer({ dataDir, log: createLog('silent') })
const killServer = () => {
  const pid = readPostmasterFile(join(dataDir, 'postgres'))?.pid
  // It may still be dead from the last time.
  if (pid && isProcess(pid)) process.kill(pid, 'SIGKILL')
}

console.log(
  `${recipients.toLocaleString('en')} recipients, up to ${kills} kills a scenario; ${cpus().length} cores (${cpus()[0]?.model.trim()}), ` +
    `${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, embedded PostgreSQL 18`,
)
const stage = await startStage(server.connection)
const leave = async () => {
  await stage.stop()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
// Interrupted, it leaves nothing behind that runs.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void leave().then(() => process.exit(1)))
const rows: string[] = []
try {
  for (const scenario of scenarios.filter(({ name }) => name.includes(word))) await runOne(scenario)
  if (webhooks.includes(word)) await runWebhooks()
} finally {
  await leave()
}
console.log(`\n| Scenario | Delivered | Came twice | Could have |\n|---|---|---|---|\n${rows.join('\n')}`)

/** On a database of its own, where nobody else publishes. */
async function runWebhooks(): Promise<void> {
  await stage.query('create database webhook_crash')
  const connection = { ...server.connection, database: 'webhook_crash' }
  await migrate(connection)
  const { deliveries, repeats, problems } = await killDispatchers(connection, { kills })
  console.log(
    `${problems.length === 0 ? '✓' : '✗'} ${webhooks}\n    ${deliveries} deliveries; ${repeats} requests came again under the same delivery id`,
  )
  for (const problem of problems) console.log(`    ${problem}`)
  if (problems.length > 0) process.exitCode = 1
}

/** One that fails does not keep the others from being tried. */
async function runOne({ name, run }: Scenario): Promise<void> {
  const began = performance.now()
  const end = (mark: string) => console.log(`${mark} ${name} (${((performance.now() - began) / 1000).toFixed(0)} s)`)
  try {
    const verdict = await run(stage, { recipients, kills, killServer })
    end(verdict.problems.length === 0 ? '✓' : '✗')
    tell(name, verdict)
  } catch (error) {
    end('✗')
    process.exitCode = 1
    rows.push(`| ${name} | it did not come to an end: ${(error as Error).message} | | |`)
    console.log(`    ${(error as Error).stack}`)
    console.log(await stateOf(stage).catch(({ message }: Error) => `    the database cannot be asked: ${message}`))
    await stage.killSenders()
  }
}

function tell(name: string, { recipients: all, delivered, bounced, failed, repeats, unanswered, problems }: Verdict): void {
  if (problems.length > 0) process.exitCode = 1
  const count = (number: number) => number.toLocaleString('en')
  const left = [bounced ? `, ${count(bounced)} bounced` : '', failed ? `, ${count(failed)} failed` : ''].join('')
  console.log(`    ${count(delivered)} of ${count(all)} delivered${left}; ${count(repeats)} came twice, ${count(unanswered)} could have`)
  rows.push(`| ${name} | ${count(delivered)}${left} | ${count(repeats)} | ${count(unanswered)} |`)
  for (const problem of problems.slice(0, 10)) console.log(`    ${problem}`)
  if (problems.length > 10) console.log(`    … and ${problems.length - 10} more`)
}
