import { parseId } from '../server/base/ids.ts'
import { formatCursor } from '../server/operations/page.ts'
import { withClient } from '../tests/support/database.ts'
import { machine, median, report, startBench } from './support.ts'

/** Pages deep in a list of a million, and counts of a list of a thousand and of a million. */
const rows = Number(process.env.ROWS ?? 1_000_000)
const pageSize = 50
const deepPage = Math.min(10_000, rows / pageSize / 2)
const samples = 200

export async function run(): Promise<void> {
  console.log(`page: ${rows.toLocaleString('en')} subscribers; ${machine()}`)
  const bench = await startBench()
  try {
    const connection = await bench.database('page')
    const program = await bench.program(connection)
    const headers = { authorization: `Bearer ${program.key}` }
    const newList = async (name: string): Promise<string> => {
      const answer = await fetch(`${program.url}/v1/lists`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      })
      return ((await answer.json()) as { id: string }).id
    }
    const [large, small] = [await newList('Large'), await newList('Small')]
    await withClient(connection, async (client) => {
      const project = (await client.query('select owner_project_id from instance')).rows[0].owner_project_id as string
      const fill = (list: string, count: number, mark: string) => client.query(fillSql, [project, parseId('lst', list), count, mark])
      await fill(large, rows, '1')
      await fill(small, 1_000, '2')
      await client.query('vacuum analyze')
    })
    const timed = async (path: string, expected: number): Promise<number> => {
      const began = performance.now()
      const answer = await fetch(`${program.url}/v1${path}`, { headers })
      const body = (await answer.json()) as unknown[]
      if (answer.status !== 200 || (Array.isArray(body) && body.length !== expected))
        throw new Error(`${path}: ${answer.status}, ${body.length} rows`)
      return performance.now() - began
    }
    const compare = async (one: string, other: string, expected = 0) => {
      const [first, second]: [number[], number[]] = [[], []]
      for (let n = 0; n < samples; n++) {
        first.push(await timed(one, expected))
        second.push(await timed(other, expected))
      }
      return { first: median(first), second: median(second) }
    }
    const cursor = formatCursor([subscriberId(rows - (deepPage - 1) * pageSize + 1, '1')])
    const page = `/lists/${large}/subscribers?limit=${pageSize}`
    const pages = await compare(page, `${page}&cursor=${cursor}`, pageSize)
    console.log(`  page 1 ${pages.first.toFixed(2)} ms, page ${deepPage.toLocaleString('en')} ${pages.second.toFixed(2)} ms`)
    report(
      `page ${deepPage.toLocaleString('en')} against page 1`,
      `${(pages.second / pages.first).toFixed(2)} ×`,
      'under 1.5 ×',
      pages.second / pages.first < 1.5,
    )
    const counts = await compare(`/lists/${small}`, `/lists/${large}`)
    console.log(`  GET /lists/{id} with a thousand ${counts.first.toFixed(2)} ms, with all ${counts.second.toFixed(2)} ms`)
    report(
      'counts of the large list against the small',
      `${(counts.second / counts.first).toFixed(2)} ×`,
      'the same: under 1.25 ×',
      counts.second / counts.first < 1.25,
    )
    const search: number[] = []
    for (let n = 1; n <= 20; n++) search.push(await timed(`${page}&search=reader${Math.floor((rows / 21) * n)}@`, 1))
    console.log(`  search among all for one person: ${median(search).toFixed(2)} ms`)
  } finally {
    await bench.stop()
  }
}

const subscriberId = (n: number, mark: string): string => `0190000${mark}-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

const fillSql = `
  with person as (
    select n, ('0190000' || $4::text || '-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id, 'reader' || n || '@' || $4::text || '.example.com' as email
    from generate_series(1, $3::int) n),
  contact as (
    insert into contacts (project_id, id, email, email_key, name) select $1::uuid, id, email, email, 'Reader ' || n from person),
  subscriber as (
    insert into subscribers (project_id, list_id, id, contact_id, email, email_key, name, status, source, subscribed_at)
    select $1::uuid, $2::uuid, id, id, email, email, 'Reader ' || n, 'active', 'import', now() from person)
  insert into list_counters (project_id, list_id, slot, active) values ($1::uuid, $2::uuid, 0, $3::int)`
