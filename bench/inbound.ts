import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { ConnectionSettings } from '../server/database/database.ts'
import { withClient } from '../tests/support/database.ts'
import { measureFiling } from './inbound-filing.ts'
import { smtpSourceRate } from './references.ts'
import { machine, median, percentile, report, residentMb, startBench } from './support.ts'

/**
 * Mail of 10 kB over twenty sessions of Debian's smtp-source: up to a 250 that is said after the commit, and what a bare server does. N
 * says how much, ROUNDS how often; LONG files as many more messages and watches the memory.
 */
const sessions = 20
const octets = 10_000
const rounds = Number(process.env.ROUNDS ?? 5)
const count = Number(process.env.N ?? 10_000)
const to = 'ann@bench.test'

export async function run(): Promise<void> {
  console.log(`inbound: messages a second, median of ${rounds}; ${machine()}`)
  const bench = await startBench()
  const children: ChildProcess[] = []
  try {
    const connection = await bench.database('inbound')
    await addMailbox(connection)
    const start = async (file: string, ...args: string[]) => {
      const child = fork(new URL(file, import.meta.url), args, { execArgv: ['--max-semi-space-size=8'] })
      children.push(child)
      const [{ port }] = (await once(child, 'message')) as [{ port: number }]
      return { child, port }
    }
    const bare = await start('./bare-smtp.ts')
    const ours = await start('../tests/support/accept-mail.ts', JSON.stringify(connection))
    if (!(await measureAccepting({ bare, ours, connection }))) return
    const discard = async (messages: number, file?: string) =>
      (await smtpSourceRate({ port: bare.port, count: messages, connections: sessions, to, ...(file ? { file } : {}) }, octets)) as number
    await measureFiling({ bench, connection, discard, to, octets, sessions, count, rounds, long: Number(process.env.LONG ?? 0) })
  } finally {
    for (const child of children) child.kill()
    await bench.stop()
  }
}

interface Started {
  child: ChildProcess
  port: number
}

async function measureAccepting({
  bare,
  ours,
  connection,
}: {
  bare: Started
  ours: Started
  connection: ConnectionSettings
}): Promise<boolean> {
  const rate = (port: number) => smtpSourceRate({ port, count, connections: sessions, to }, octets)
  if ((await rate(bare.port)) === null) {
    console.log('  left out: smtp-source is not here, and its package could not be had')
    return false
  }
  await rate(ours.port)
  let stored = await takeOut(connection)
  const [discarded, accepted]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round++) {
    discarded.push((await rate(bare.port)) as number)
    accepted.push((await rate(ours.port)) as number)
    stored += await takeOut(connection)
  }
  const ratio = median(accepted.map((value, round) => value / (discarded[round] as number)))
  report('read and thrown away by smtp-server alone', `${Math.round(median(discarded))}/s`, 'for comparison', true)
  report(
    'accepted: 250 after the commit',
    `${Math.round(median(accepted))}/s`,
    `${Math.round(percentile(accepted, 0))} to ${Math.round(percentile(accepted, 1))}; ${ratio.toFixed(2)} × that, at least 0.35 ×`,
    ratio >= 0.35,
  )
  report('of which are in the database', String(stored), `all ${(rounds + 1) * count}`, stored === (rounds + 1) * count)
  report(
    'memory after that',
    `${Math.round(residentMb(ours.child.pid as number))} MB`,
    'at most 250 MB',
    residentMb(ours.child.pid as number) <= 250,
  )
  return true
}

const addMailbox = (connection: ConnectionSettings) =>
  withClient(connection, (client) =>
    client.query(`
      with person as (insert into users (id, kind, email, email_key) values (gen_random_uuid(), 'human', 'o@bench.test', 'o@bench.test') returning id),
        project as (insert into projects (id, name, slug, owner_id) select gen_random_uuid(), 'Bench', 'bench', id from person returning id)
      insert into mailboxes (project_id, id, address, address_key, type, status) select id, gen_random_uuid(), '${to}', '${to}', 'persistent', 'active' from project`),
  )

/** How many messages of about the right size there are; then there are none. */
const takeOut = (connection: ConnectionSettings): Promise<number> =>
  withClient(connection, async (client) => {
    const found = await client.query<{ count: string }>(
      `select count(*) from inbound_spool where length(raw) between ${octets} and ${2 * octets}`,
    )
    await client.query('truncate inbound_spool')
    return Number(found.rows[0]?.count)
  })
