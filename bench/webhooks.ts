import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../server/base/clock.ts'
import { newId, type ProjectId } from '../server/base/ids.ts'
import { createLog } from '../server/base/log.ts'
import { createSecrets } from '../server/base/secrets.ts'
import { type ConnectionSettings, type Database, openDatabase } from '../server/database/database.ts'
import { publishBulk } from '../server/events/publish.ts'
import { sealSecret } from '../server/features/webhooks/sign-delivery.ts'
import { makeWebhookSecret } from '../server/features/webhooks/webhook.ts'
import { ask, newList, type Sent, sendingEnv } from './newsletter.ts'
import { processorTimeMs } from './processor-time.ts'
import { startSink } from './sink.ts'
import { type Bench, machine, median, percentile, report, startBench, until } from './support.ts'
import type { WebhookSinkReport } from './webhook-sink.ts'

/**
 * `npm run bench -- webhooks`: what a webhook on email.delivered costs a broadcast (N recipients, ROUNDS with it and as many without, in
 * turns); how late the healthy ones of 1,000 endpoints are when 300 hang; how many deliveries a second one endpoint gets. PARTS=broadcast,hanging,one
 * runs some of them.
 */
const recipients = Number(process.env.N ?? 100_000)
const rounds = Number(process.env.ROUNDS ?? 3)
const parts = (process.env.PARTS ?? 'broadcast,hanging,one').split(',')
const endpoints = 1_000
const hanging = 300
const perProject = 50
const tellEverySeconds = 2
/** Until what hangs is known to. */
const warmUpSeconds = 20
const hangSeconds = 30
const many = 20_000

export async function run(): Promise<void> {
  console.log(`webhooks: ${machine()}`)
  const hooks = await startHooks()
  const bench = await startBench()
  try {
    if (parts.includes('broadcast')) await besideBroadcast(bench, hooks)
    if (parts.includes('hanging')) await besideHanging(bench, hooks)
    if (parts.includes('one')) await toOne(bench, hooks)
  } finally {
    await bench.stop()
    hooks.stop()
  }
}

type Hooks = Awaited<ReturnType<typeof startHooks>>

async function startHooks() {
  const child = fork(new URL('./webhook-sink.ts', import.meta.url))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const look = async (): Promise<WebhookSinkReport> => {
    const answer = once(child, 'message')
    child.send('report')
    return ((await answer) as [WebhookSinkReport])[0]
  }
  return { port, pid: child.pid as number, look, stop: () => void child.kill() }
}

const secretKey = 'a key for benchmarks, long enough to be taken'

async function besideBroadcast(bench: Bench, hooks: Hooks): Promise<void> {
  const sink = await startSink()
  try {
    const program = await bench.program(await bench.database('beside'), { ...sendingEnv(sink), ALLOW_PRIVATE_WEBHOOKS: 'true' })
    const send = await newList({ bench, program, sink, recipients })
    const url = `http://127.0.0.1:${hooks.port}/`
    const { id } = await ask(program, 'POST', '/webhooks', JSON.stringify({ url, events: ['email.delivered'] }))
    const setStatus = (status: string) => ask(program, 'PATCH', `/webhooks/${id}`, JSON.stringify({ status }))
    const [without, withHook, behind]: [Sent[], Sent[], number[]] = [[], [], []]
    for (let round = 0; round < rounds; round++) {
      await setStatus('paused')
      await sleep(1_000)
      without.push(await send())
      await setStatus('active')
      await sleep(1_000)
      const before = (await hooks.look()).received
      withHook.push(await send())
      const began = performance.now()
      const meanwhile = (await hooks.look()).received - before
      await until(async () => (await hooks.look()).received - before >= recipients, { withinMs: 600_000, everyMs: 200 })
      behind.push((performance.now() - began) / 1_000)
      console.log(
        `  round ${round + 1}: ${without.at(-1)?.rate.toFixed(0)}/s without, ${withHook.at(-1)?.rate.toFixed(0)}/s with; ${meanwhile} delivered meanwhile, the rest ${behind.at(-1)?.toFixed(1)} s later`,
      )
    }
    const [alone, beside] = [median(without.map(({ rate }) => rate)), median(withHook.map(({ rate }) => rate))]
    const said = `${Math.round(beside)}/s of ${Math.round(alone)}/s, at least 0.7 ×`
    report('a broadcast with a webhook on email.delivered', `${(beside / alone).toFixed(2)} ×`, said, beside / alone >= 0.7)
    const left = ((await hooks.look()).received / (rounds * recipients)) * 100
    report('of its events arrived', `${left.toFixed(1)} %`, `all, ${median(behind).toFixed(1)} s after the last message`, left >= 100)
  } finally {
    sink.stop()
  }
}

async function besideHanging(bench: Bench, hooks: Hooks): Promise<void> {
  // Each endpoint has an address of its own, as strangers have.
  const urlOf = (number: number) => `http://127.1.${number >> 8}.${number & 255}:${hooks.port}/${number % 10 < 3 ? 'hang' : 'healthy'}`
  const { database, projects } = await openWithHooks(bench, { name: 'hanging', count: endpoints, urlOf })
  try {
    await tellEach(database, projects, warmUpSeconds)
    const before = (await hooks.look()).received
    await tellEach(database, projects, hangSeconds)
    const expected = (hangSeconds / tellEverySeconds) * (endpoints - hanging)
    const delays: number[] = []
    const isAll = async () => {
      const seen = await hooks.look()
      delays.push(...seen.delays)
      return seen.received - before >= expected
    }
    await until(isAll, { withinMs: 60_000, everyMs: 500 }).catch(() => console.log('  some are missing after a minute'))
    console.log(`  ${delays.length} deliveries to ${endpoints - hanging} healthy endpoints; ${hanging} more hang`)
    const [p50, p99] = [percentile(delays, 0.5), percentile(delays, 0.99)]
    report('from event to receipt at healthy endpoints, median', `${p50} ms`, 'two polls of half a second at most', p50 < 1_500)
    report('… and the 99th percentile', `${p99} ms`, 'under 5 s', p99 < 5_000)
    report('… of those expected', `${delays.length}`, `all ${expected}, and some from before`, delays.length >= expected)
  } finally {
    await database.close()
  }
}

async function toOne(bench: Bench, hooks: Hooks): Promise<void> {
  const { database, projects, pid } = await openWithHooks(bench, {
    name: 'one',
    count: 1,
    urlOf: () => `http://127.0.0.1:${hooks.port}/one`,
  })
  try {
    const before = (await hooks.look()).received
    const pids = [pid, bench.postgresPid, hooks.pid]
    const times = pids.map(processorTimeMs)
    const began = performance.now()
    for (let told = 0; told < many; told += 500) await tell(database, projects[0] as ProjectId, 500)
    await until(async () => (await hooks.look()).received - before >= many, { withinMs: 300_000, everyMs: 100 })
    const seconds = (performance.now() - began) / 1_000
    const [node, postgres, sink] = pids.map((one, index) => ((processorTimeMs(one) - (times[index] as number)) / many).toFixed(3))
    report('deliveries a second to one endpoint', `${Math.round(many / seconds)}/s`, 'at least 500/s', many / seconds >= 500)
    console.log(`  processor time for each: the program ${node} ms, PostgreSQL ${postgres} ms, the receiver ${sink} ms`)
  } finally {
    await database.close()
  }
}

interface WithHooks {
  name: string
  count: number
  urlOf(number: number): string
}

/** A program that only delivers, and so many webhooks, some to a project. */
async function openWithHooks(bench: Bench, { name, count, urlOf }: WithHooks) {
  const connection: ConnectionSettings = await bench.database(name)
  const env = { ALLOW_PRIVATE_WEBHOOKS: 'true', SECRET_KEY: secretKey, ROLES: 'http,consumers' }
  const { pid } = await bench.program(connection, env)
  const database = openDatabase({ connection, clock: systemClock, log: createLog('warn') })
  const owner = await database.first<{ id: string }>`select id from users limit 1`
  const secrets = createSecrets(secretKey)
  const projects: ProjectId[] = []
  for (let number = 0; number < count; number++) {
    if (number % perProject === 0) projects.push(await addProject(database, owner?.id as string))
    const id = newId<'whk'>()
    await database.run`
      insert into webhooks (project_id, id, url, events, secret, created_at, updated_at)
      values (${projects.at(-1)}, ${id}, ${urlOf(number)}, ${['list.updated']}, ${sealSecret(secrets, id, makeWebhookSecret())}, now(), now())`
  }
  return { database, projects, pid }
}

async function addProject(database: Database, owner_id: string): Promise<ProjectId> {
  const id = newId<'prj'>()
  await database.run`insert into projects (id, name, slug, owner_id) values (${id}, 'Bench', ${id}, ${owner_id})`
  return id
}

const tell = (database: Database, project_id: ProjectId, count: number) =>
  database.transaction((tx) =>
    publishBulk(tx, project_id, 'list.updated', {
      template: { name: '$0' },
      rows: Array.from({ length: count }, (_, index) => [`${index}`]),
    }),
  )

/** An event in every project every two seconds, spread over them. */
async function tellEach(database: Database, projects: ProjectId[], seconds: number): Promise<void> {
  const began = performance.now()
  for (let round = 0; round < seconds / tellEverySeconds; round++) {
    for (const [index, project_id] of projects.entries()) {
      const at = (round + index / projects.length) * tellEverySeconds * 1_000
      await sleep(Math.max(0, began + at - performance.now()))
      await tell(database, project_id, 1)
    }
  }
}
