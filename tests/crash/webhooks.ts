import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../server/base/clock.ts'
import { newId, type ProjectId, type WebhookId } from '../../server/base/ids.ts'
import { createLog } from '../../server/base/log.ts'
import { createSecrets } from '../../server/base/secrets.ts'
import { type ConnectionSettings, type Database, openDatabase } from '../../server/database/database.ts'
import { publishBulk } from '../../server/events/publish.ts'
import { sealSecret } from '../../server/features/webhooks/sign-delivery.ts'
import { makeWebhookSecret } from '../../server/features/webhooks/webhook.ts'
import { urlOf } from '../support/empty-database.ts'
import { until } from '../support/until.ts'
import type { WebhookSinkOrder, WebhookSinkReport } from './webhook-sink.ts'

/**
 * Two processes deliver webhooks and are killed at random moments, both at once, while events are published. In the end every event must have reached every
 * endpoint; what came more than once must have come under one delivery id; and each delivery must have been settled once.
 */
export interface WebhookVerdict {
  deliveries: number
  /** Requests that came once more under the same delivery id although none before was refused: somebody died in between. */
  repeats: number
  problems: string[]
}

const secretKey = 'a key for crash tests, long enough to be taken'
const root = fileURLToPath(new URL('../..', import.meta.url))
const between = (low: number, high: number): number => low + Math.random() * (high - low)

interface Size {
  kills: number
  endpoints?: number
}

export async function killDispatchers(connection: ConnectionSettings, { kills, endpoints = 3 }: Size): Promise<WebhookVerdict> {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-webhooks-'))
  const sink = await startSink()
  const database = openDatabase({ connection, clock: systemClock, log: createLog('silent') })
  let nodes = [startNode(connection, folder), startNode(connection, folder)]
  try {
    await until('a consumer', () => database.first`select 1 from event_consumers where name = 'webhooks'`, { withinMs: 60_000 })
    const project_id = await newProject(database)
    for (let number = 0; number < endpoints; number++) await addWebhook(database, project_id, `http://127.0.0.1:${sink.port}/${number}`)
    const publishing = startPublishing(database, project_id)
    for (let kill = 0; kill < kills; kill++) {
      // Somebody is in the middle of it.
      const { total } = await sink.ask<{ total: number }>('count')
      await until('some more to arrive', async () => (await sink.ask<{ total: number }>('count')).total > total + 50, { withinMs: 60_000 })
      await sleep(between(0, 200))
      for (const node of nodes) await killed(node)
      nodes = [startNode(connection, folder), startNode(connection, folder)]
    }
    const events = await publishing.stop()
    await untilAllDelivered(database, events * endpoints)
    return await judge(database, await sink.ask<WebhookSinkReport>('report'), { events, endpoints })
  } finally {
    for (const node of nodes) await killed(node)
    sink.stop()
    await database.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Time passes for what was refused, which would otherwise wait for minutes. */
const untilAllDelivered = (database: Database, count: number) =>
  until(
    `all ${count} to be delivered`,
    async () => {
      const row = await database.first<{ delivered: number }>`
        select count(*) as delivered from webhook_deliveries where status = 'delivered'`
      return row?.delivered === count
    },
    { withinMs: 240_000, everyMs: 500 },
  )

async function judge(
  database: Database,
  { received }: WebhookSinkReport,
  { events, endpoints }: { events: number; endpoints: number },
): Promise<WebhookVerdict> {
  const problems: string[] = []
  const rows = await database.many<{ status: string; attempt: number }>`select status, attempt from webhook_deliveries`
  if (rows.length !== events * endpoints) problems.push(`there are ${rows.length} deliveries of ${events} events to ${endpoints} endpoints`)
  const names = Map.groupBy(received, ([, , name]) => name)
  for (let number = 0; number < events; number++) {
    const ofEvent = names.get(`event ${number}`) ?? []
    if (ofEvent.length !== endpoints) problems.push(`event ${number} came as ${ofEvent.length} deliveries`)
    if (new Set(ofEvent.map(([, event_id]) => event_id)).size !== 1) problems.push(`event ${number} came under several ids`)
  }
  if (rows.some(({ status }) => status !== 'delivered')) problems.push('not every delivery is settled as delivered')
  const failures = await database.first<{ failures: number }>`select max(consecutive_failures) as failures from webhooks`
  if (failures?.failures !== 0) problems.push(`a webhook has ${failures?.failures} failures`)
  const answered = received.reduce((sum, [, , , times, refused]) => sum + times - refused, 0)
  return { deliveries: rows.length, repeats: answered - rows.length, problems: problems.slice(0, 10) }
}

async function newProject(database: Database): Promise<ProjectId> {
  const [project_id, user_id] = [newId<'prj'>(), newId<'usr'>()]
  await database.run`insert into users (id, kind, email, email_key) values (${user_id}, 'human', 'crash@example.com', ${`${user_id}@example.com`})`
  await database.run`insert into projects (id, name, slug, owner_id) values (${project_id}, 'Crash', ${project_id}, ${user_id})`
  return project_id
}

async function addWebhook(database: Database, project_id: ProjectId, url: string): Promise<void> {
  const id: WebhookId = newId<'whk'>()
  const secret = sealSecret(createSecrets(secretKey), id, makeWebhookSecret())
  await database.run`
    insert into webhooks (project_id, id, url, events, secret, created_at, updated_at)
    values (${project_id}, ${id}, ${url}, ${['list.updated']}, ${secret}, now(), now())`
}

/** Alone and in rows of several, as operations and the sender do, until it is told to stop. Answers how many there were. */
function startPublishing(database: Database, project_id: ProjectId): { stop(): Promise<number> } {
  let isOver = false
  const publishing = (async () => {
    let told = 0
    while (!isOver) {
      const rows = Array.from({ length: Math.ceil(between(0, 10)) }, (_, index) => [`event ${told + index}`])
      await database.transaction((tx) => publishBulk(tx, project_id, 'list.updated', { template: { name: '$0' }, rows }))
      told += rows.length
      await sleep(between(50, 150))
    }
    return told
  })()
  return {
    stop: () => {
      isOver = true
      return publishing
    },
  }
}

function startNode(connection: ConnectionSettings, folder: string): ChildProcess {
  const env = {
    ...process.env,
    DATABASE_URL: urlOf(connection),
    SECRET_KEY: secretKey,
    DATA_DIR: folder,
    ROLES: 'consumers',
    LEASE_SECONDS: '2',
    ALLOW_PRIVATE_WEBHOOKS: 'true',
    // More attempts than chance will use up: what is refused at random comes through in the end.
    WEBHOOK_BACKOFF_SECONDS: '0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
  }
  return spawn(process.execPath, ['--max-semi-space-size=4', 'bin/posthaste.js', 'start'], {
    cwd: root,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function startSink() {
  const child = fork(new URL('./webhook-sink.ts', import.meta.url))
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    port,
    async ask<Answer>(order: WebhookSinkOrder): Promise<Answer> {
      const answer = once(child, 'message')
      child.send(order)
      return ((await answer) as [Answer])[0]
    },
    stop: () => void child.kill(),
  }
}
