import { spawn } from 'node:child_process'
import { parseId } from '../server/base/ids.ts'
import { withClient } from '../tests/support/database.ts'
import { urlOf } from '../tests/support/empty-database.ts'
import { httpRequest, type Load, load } from './load.ts'
import { freePort, machine, median, report, startBench, until } from './support.ts'

/** Authenticated requests against a bare Fastify route that runs the same SQL, in turns, in one run. */
const rounds = 3
const seconds = Number(process.env.SECONDS ?? 5)
const connections = 20

export async function run(): Promise<void> {
  console.log(`http: ${rounds} rounds of ${seconds} s in turns, ${connections} connections; ${machine()}`)
  const bench = await startBench()
  const connection = await bench.database('http')
  const program = await bench.program(connection)
  const authorization = { authorization: `Bearer ${program.key}` }
  const port = Number(new URL(program.url).port)
  const created = await fetch(`${program.url}/v1/lists`, {
    method: 'POST',
    headers: { ...authorization, 'content-type': 'application/json' },
    body: '{"name":"Bench"}',
  })
  const { id } = (await created.json()) as { id: string }
  const project = await withClient(
    connection,
    async (client) => (await client.query('select owner_project_id from instance')).rows[0].owner_project_id as string,
  )

  const barePort = await freePort()
  const env = {
    ...process.env,
    BARE_PORT: String(barePort),
    BARE_PROJECT: project,
    BARE_LIST: String(parseId('lst', id)),
    DATABASE_URL: urlOf(connection),
  }
  const bare = spawn(process.execPath, ['bench/bare-server.ts'], { env, stdio: 'inherit' })
  try {
    await until(async () => (await fetch(`http://127.0.0.1:${barePort}/list`)).ok)
    let serial = 0
    const person = () => JSON.stringify({ email: `reader${serial++}.${Date.now()}@example.com`, verified: true })
    await compare('GET /lists/{id}', {
      ours: () => load({ port, connections, seconds, status: 200, request: () => httpRequest('GET', `/v1/lists/${id}`, authorization) }),
      bare: () => load({ port: barePort, connections, seconds, status: 200, request: () => httpRequest('GET', '/list', {}) }),
    })
    await compare('POST /lists/{id}/subscribers', {
      ours: () =>
        load({
          port,
          connections,
          seconds,
          status: 201,
          request: () => httpRequest('POST', `/v1/lists/${id}/subscribers`, authorization, person()),
        }),
      bare: () =>
        load({ port: barePort, connections, seconds, status: 201, request: () => httpRequest('POST', '/subscribers', {}, person()) }),
    })
  } finally {
    bare.kill()
    await bench.stop()
  }
}

async function compare(what: string, { ours, bare }: { ours: () => Promise<Load>; bare: () => Promise<Load> }): Promise<void> {
  const [mine, theirs]: [Load[], Load[]] = [[], []]
  // The first round of each warms up and does not count.
  await bare()
  await ours()
  for (let round = 0; round < rounds; round++) {
    theirs.push(await bare())
    mine.push(await ours())
  }
  const rateOf = (loads: Load[]) => median(loads.map((one) => one.rate))
  console.log(
    `  ${what}: bare ${Math.round(rateOf(theirs))}/s, ours ${Math.round(rateOf(mine))}/s, our p99 ${median(mine.map((one) => one.p99)).toFixed(1)} ms`,
  )
  const ratio = rateOf(mine) / rateOf(theirs)
  report(`${what} against a bare route`, `${ratio.toFixed(2)} ×`, 'at least 0.5 ×', ratio >= 0.5)
}
