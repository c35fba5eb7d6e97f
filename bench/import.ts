import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { newId } from '../server/base/ids.ts'
import type { ConnectionSettings } from '../server/database/database.ts'
import { machine, type Program, percentile, report, residentMb, startBench } from './support.ts'

/**
 * A million subscribers streamed as CSV through HTTP, against a bare COPY and two insert-selects into the same tables with the same
 * indexes, on the same server in the same run.
 */
const rows = Number(process.env.ROWS ?? 1_000_000)

function* lines(of: (n: number) => string): Generator<Buffer> {
  let text = ''
  for (let n = 0; n < rows; n++) {
    text += of(n)
    if (text.length > 65_536) {
      yield Buffer.from(text)
      text = ''
    }
  }
  yield Buffer.from(text)
}
/** Spread over the alphabet, as addresses are: rising keys would flatter the index. */
const emailOf = (n: number) => `${((n * 2_654_435_761) % 4_294_967_296).toString(36)}.reader${n}@example${n % 500}.com`

export async function run(): Promise<void> {
  console.log(`import: ${rows.toLocaleString('en')} subscribers; ${machine()}`)
  const bench = await startBench()
  try {
    const bare = await bareImport(await bench.database('bare'))
    console.log(`  bare COPY + insert-select: ${Math.round(bare).toLocaleString('en')} rows/s`)
    const program = await bench.program(await bench.database('ours'))
    const ours = await ourImport(program)
    console.log(`  Posthaste over HTTP:       ${Math.round(ours.rate).toLocaleString('en')} rows/s`)
    report('rate against bare COPY + insert-select', `${(ours.rate / bare).toFixed(2)} ×`, 'at least 0.6 ×', ours.rate / bare >= 0.6)
    report('most memory of the Node process', `${Math.round(ours.memory)} MB`, 'under 250 MB', ours.memory < 250)
    report(`p99 of GET /lists/{id} meanwhile (${ours.asked} asked)`, `${ours.p99.toFixed(1)} ms`, 'under 100 ms', ours.p99 < 100)
  } finally {
    await bench.stop()
  }
}

async function bareImport(connection: ConnectionSettings): Promise<number> {
  const client = new Client(connection)
  await client.connect()
  await client.query('create temp table staging (id uuid, contact_id uuid, email text, email_key text, name text)')
  const [project, list] = [newId(), newId()]
  // Ids and text are made beforehand: the bare way is timed for the database's work alone.
  const prepared = [...lines((n) => `${newId()}\t${newId()}\t${emailOf(n)}\t${emailOf(n)}\tReader Number ${n}\n`)]
  const began = performance.now()
  await pipeline(Readable.from(prepared), client.query(copyFrom('copy staging from stdin')))
  await client.query(
    `insert into contacts (project_id, id, email, email_key, name) select $1, contact_id, email, email_key, name from staging`,
    [project],
  )
  await client.query(
    `insert into subscribers (project_id, list_id, id, contact_id, email, email_key, name, status, source, subscribed_at)
     select $1, $2, id, contact_id, email, email_key, name, 'active', 'import', now() from staging`,
    [project, list],
  )
  const seconds = (performance.now() - began) / 1000
  await client.end()
  return rows / seconds
}

async function ourImport({ url, key, pid }: Program) {
  const headers = { authorization: `Bearer ${key}` }
  const created = await fetch(`${url}/v1/lists`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"name":"Bench"}',
  })
  const { id } = (await created.json()) as { id: string }
  let isRunning = true
  let memory = 0
  const latencies: number[] = []
  const watch = async () => {
    while (isRunning) {
      const began = performance.now()
      await (await fetch(`${url}/v1/lists/${id}`, { headers })).arrayBuffer()
      latencies.push(performance.now() - began)
      memory = Math.max(memory, residentMb(pid))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const watching = watch()
  const body = Readable.from(lines((n) => `${n === 0 ? 'email,name\n' : ''}${emailOf(n)},Reader Number ${n}\n`))
  const began = performance.now()
  const answer = await fetch(`${url}/v1/lists/${id}/subscribers/import`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'text/csv' },
    body,
    duplex: 'half',
  } as unknown as RequestInit)
  const result = (await answer.json()) as { imported: number }
  const rate = rows / ((performance.now() - began) / 1000)
  isRunning = false
  await watching
  if (answer.status !== 201 || result.imported !== rows)
    throw new Error(`The import did not take all: ${answer.status} ${JSON.stringify(result).slice(0, 300)}`)
  return { rate, memory, p99: percentile(latencies, 0.99), asked: latencies.length }
}
