import { withClient } from '../tests/support/database.ts'
import { machine, median, percentile, report, startBench } from './support.ts'

/** A waitlist of half a million: joining, where somebody stands, moving up by referrals, and inviting. */
const rows = Number(process.env.ROWS ?? 500_000)
const [joins, looks, moves, invited] = [400, 300, 300, 10_000]
const connections = 8

export async function run(): Promise<void> {
  console.log(`waitlist: ${rows.toLocaleString('en')} people in line; ${machine()}`)
  const bench = await startBench()
  try {
    const connection = await bench.database('waitlist')
    const program = await bench.program(connection, { RATE_LIMIT_PER_MINUTE: '1000000', ROLES: 'http,scheduler' })
    const ask = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`${program.url}/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${program.key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      // biome-ignore lint/suspicious/noExplicitAny: the shapes are the API's
      const found = (await answer.json()) as any
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(found)}`)
      return found
    }
    const list = await ask('POST', '/lists', { name: 'Launch', type: 'waitlist' })
    const began = performance.now()
    await importPeople(program, list.id)
    console.log(`  imported in ${((performance.now() - began) / 1000).toFixed(0)} s`)
    await withClient(connection, (client) => client.query('vacuum analyze'))
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const start = performance.now()
      await work()
      return performance.now() - start
    }

    const joined: { subscriber_id: string; referral_url: string }[] = []
    const took = await timed(async () => {
      const one = async (lane: number) => {
        for (let n = lane; n < joins; n += connections)
          joined.push(await ask('POST', `/lists/${list.id}/join`, { email: `late-${n}@example.net` }))
      }
      await Promise.all(Array.from({ length: connections }, (_, lane) => one(lane)))
    })
    report('joins a second, one line', `${(joins / (took / 1000)).toFixed(0)}/s`, 'over 50/s', joins / (took / 1000) > 50)

    const times: number[] = []
    for (let n = 0; n < looks; n++) {
      const { subscriber_id } = joined[n % joined.length] as { subscriber_id: string }
      times.push(await timed(() => ask('GET', `/lists/${list.id}/subscribers/${subscriber_id}`)))
    }
    report('position at the end of the line, p50 over HTTP', `${median(times).toFixed(1)} ms`, 'under 10 ms', median(times) < 10)

    // Each friend is vouched for by the owner, which confirms them and moves their referrer up.
    const ref = new URL((joined[0] as { referral_url: string }).referral_url).searchParams.get('ref') as string
    const moved: number[] = []
    for (let n = 0; n < moves; n++) {
      const friend = await ask('POST', `/lists/${list.id}/join`, { email: `friend-${n}@example.net`, ref })
      moved.push(await timed(() => ask('PATCH', `/lists/${list.id}/subscribers/${friend.subscriber_id}`, { status: 'active' })))
    }
    report(
      'referral: confirm and move up, p99 over HTTP',
      `${percentile(moved, 0.99).toFixed(1)} ms`,
      'under 50 ms',
      percentile(moved, 0.99) < 50,
    )

    const some = await timed(() => ask('POST', `/lists/${list.id}/invite`, { count: invited }))
    report(`invite ${invited.toLocaleString('en')}`, `${(some / 1000).toFixed(1)} s`, 'under 5 s', some < 5_000)
    const all = await timed(() => ask('POST', `/lists/${list.id}/invite`, { all: true }))
    report('invite all the others', `${(all / 1000).toFixed(1)} s`, 'under 60 s', all < 60_000)
  } finally {
    await bench.stop()
  }
}

async function importPeople(program: { url: string; key: string }, list: string): Promise<void> {
  const csv = ['email', ...Array.from({ length: rows }, (_, n) => `person-${n}@example.com`)].join('\n')
  const answer = await fetch(`${program.url}/v1/lists/${list}/subscribers/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${program.key}`, 'content-type': 'text/csv' },
    body: csv,
  })
  const { imported } = (await answer.json()) as { imported: number }
  if (imported !== rows) throw new Error(`${imported} of ${rows} were imported`)
}
