import { withClient } from '../tests/support/database.ts'
import { machine, median, report, startBench } from './support.ts'

/** Looking for people among a million contacts: every order, words that all, many, few and none have, and one or two letters. */
const rows = Number(process.env.ROWS ?? 1_000_000)
/** The most engaged have got something every day for a year: what they have received is counted when they are shown. */
const [regulars, deliveriesEach] = [1_000, 400]
const samples = 9
const kinds = [
  ['top', 'activity', 'created'],
  ['name', 'email'],
]
const limitMs = 100
const searches = ['', 'example.com', 'maria', 'maria q', 'xyzzy', 'ann', 'zq', 'ma', 'qu', 'm', 'z', '7']

export async function run(): Promise<void> {
  console.log(
    `contacts: ${rows.toLocaleString('en')} contacts, ${(regulars * deliveriesEach).toLocaleString('en')} deliveries; ${machine()}`,
  )
  const bench = await startBench()
  try {
    const connection = await bench.database('contacts')
    const program = await bench.program(connection)
    const headers = { authorization: `Bearer ${program.key}` }
    await withClient(connection, async (client) => {
      const project = (await client.query('select owner_project_id from instance')).rows[0].owner_project_id as string
      await client.query(fillContacts, [project, rows])
      await client.query(fillDeliveries, [project, regulars, deliveriesEach])
      await client.query('vacuum analyze')
    })
    const timed = async (query: string): Promise<number> => {
      const times: number[] = []
      for (let n = 0; n < samples; n++) {
        const began = performance.now()
        const answer = await fetch(`${program.url}/v1/contacts?${query}`, { headers })
        await answer.json()
        if (answer.status !== 200) throw new Error(`${query}: ${answer.status}`)
        times.push(performance.now() - began)
      }
      return median(times)
    }
    for (const sorts of kinds) {
      let worst = { ms: 0, query: '' }
      for (const sort of sorts) {
        for (const search of searches) {
          const query = `sort=${sort}&search=${encodeURIComponent(search)}`
          const ms = await timed(query)
          if (process.env.VERBOSE) console.log(`  ${ms.toFixed(1).padStart(7)} ms ${query}`)
          if (ms > worst.ms) worst = { ms, query }
        }
      }
      console.log(`  slowest: ${worst.query}`)
      report(`search by ${sorts.join(', ')}`, `${worst.ms.toFixed(0)} ms`, `under ${limitMs} ms`, worst.ms < limitMs)
    }
  } finally {
    await bench.stop()
  }
}

/** Sixty first names, and family names of letters that a hash gives, so that short words are as common as among people. */
const fillContacts = `
  with named as (
    select n, (array['Maria','Anna','John','Wei','Ali','Ivan','Yuki','Omar','Lena','Paul','Nina','Hugo','Emma','Liam','Noah','Mia','Zoe','Ana','Max','Tom',
      'Kim','Lee','Eva','Ida','Leo','Sam','Ben','Amy','Joe','Roy','Ines','Luis','Jose','Juan','Rosa','Olga','Vera','Igor','Oleg','Dina','Sara','Laura',
      'Peter','Klaus','Heidi','Pierre','Marie','Chloe','Akira','Hana','Jin','Mei','Raj','Priya','Arun','Fatima','Hassan','Amina','Kofi','Thabo'])[1 + (hashint4(n) & 32767) % 60] as first,
      initcap(translate(substr(md5(n::text), 1, 5 + n % 4), '0123456789abcdef', 'aeioulnrstmkdhbv')) as last
    from generate_series(1, $2::int) n)
  insert into contacts (project_id, id, email, email_key, name, total_opens, last_activity_at)
  select $1::uuid, ('01900001-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, lower(first || '.' || last || n || '@example.com'),
    lower(first || '.' || last || n || '@example.com'), case when n % 10 > 0 then first || ' ' || last end,
    case when n % 3 = 0 then n % 1000 else 0 end, case when n % 3 = 0 then now() - n * interval '1 minute' end
  from named`

const fillDeliveries = `
  insert into deliveries (project_id, id, broadcast_id, subscriber_id, contact_id, email, status, next_attempt_at)
  select $1::uuid, gen_random_uuid(), ('01900002-0000-7000-8000-' || lpad(to_hex(b), 12, '0'))::uuid, c.id, c.id, c.email, 'delivered', now()
  from (select * from contacts where project_id = $1 order by engagement desc, id desc limit $2) c, generate_series(1, $3::int) b`
