import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { httpRequest, type Load, load } from './load.ts'
import { freePort, machine, median, type Program, report, startBench, until } from './support.ts'

/** A post's page that was made before, against a bare Fastify route that sends the same bytes, in turns, in one run; and pages nobody has asked for. */
const rounds = 3
const seconds = Number(process.env.SECONDS ?? 5)
const connections = 20
const agent = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }
const words = 'Some words that make up a letter of the usual length, with *emphasis* and a [link](https://example.org/a). '

export async function run(): Promise<void> {
  console.log(`site: ${rounds} rounds of ${seconds} s in turns, ${connections} connections; ${machine()}`)
  const bench = await startBench()
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-site-'))
  const program = await bench.program(await bench.database('site'))
  const { paths, subdomain } = await publishPosts(program, 200)
  const path = paths[0] as string
  const page = Buffer.from(await (await fetch(`${program.url}${path}`)).arrayBuffer())
  const file = join(folder, 'page.html')
  writeFileSync(file, page)
  report('A text post with its styles', `${(page.length / 1000).toFixed(1)} kB`, 'under 60 kB', page.length < 60_000)
  const barePort = await freePort()
  const env = { ...process.env, BARE_PORT: String(barePort), BARE_FILE: file }
  const bare = spawn(process.execPath, ['bench/bare-page.ts'], { env, stdio: 'inherit' })
  try {
    await until(async () => (await fetch(`http://127.0.0.1:${barePort}/page`)).ok)
    const port = Number(new URL(program.url).port)
    await cold(program, paths.slice(1))
    const ours = () => load({ port, connections, seconds, status: 200, request: () => httpRequest('GET', path, agent) })
    const theirs = () => load({ port: barePort, connections, seconds, status: 200, request: () => httpRequest('GET', '/page', agent) })
    await compare('A post’s page', { ours, theirs })
    const etag = (await fetch(`${program.url}${path}`)).headers.get('etag') as string
    const again = await load({
      port,
      connections,
      seconds,
      status: 304,
      request: () => httpRequest('GET', path, { ...agent, 'if-none-match': etag }),
    })
    console.log(`  the same for who has it already (304): ${Math.round(again.rate)}/s`)
    const home = await load({ port, connections, seconds, status: 200, request: () => httpRequest('GET', `/s/${subdomain}/`, agent) })
    console.log(`  the home page: ${Math.round(home.rate)}/s, p99 ${home.p99.toFixed(1)} ms`)
  } finally {
    bare.kill()
    await bench.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function publishPosts({ url, key }: Program, count: number) {
  const call = async (path: string, body: object) => {
    const response = await fetch(`${url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }
  const list = await call('/lists', { name: 'Bench' })
  const paths: string[] = []
  for (let number = 0; number < count; number++) {
    const draft = await call(`/lists/${list.id}/posts`, { subject: `Post ${number}`, body_markdown: `${words.repeat(10)}\n\n`.repeat(10) })
    const { slug } = await call(`/lists/${list.id}/posts/${draft.id}/publish`, {})
    paths.push(`/s/${list.subdomain}/p/${slug}`)
  }
  return { paths, subdomain: list.subdomain as string }
}

/** Each page once: compiled, made safe and put together. */
async function cold({ url }: Program, paths: string[]): Promise<void> {
  const times: number[] = []
  for (const path of paths) {
    const began = performance.now()
    const { status } = await fetch(`${url}${path}`)
    if (status !== 200) throw new Error(`${path}: ${status}`)
    times.push(performance.now() - began)
  }
  console.log(`  a page that nobody has asked for yet: ${median(times).toFixed(1)} ms at the median of ${times.length}`)
}

async function compare(what: string, { ours, theirs }: { ours: () => Promise<Load>; theirs: () => Promise<Load> }): Promise<void> {
  const [mine, bare]: [Load[], Load[]] = [[], []]
  // The first round of each warms up and does not count.
  await theirs()
  await ours()
  for (let round = 0; round < rounds; round++) {
    bare.push(await theirs())
    mine.push(await ours())
  }
  const rateOf = (loads: Load[]) => median(loads.map((one) => one.rate))
  console.log(
    `  ${what}: bare ${Math.round(rateOf(bare))}/s, ours ${Math.round(rateOf(mine))}/s, our p99 ${median(mine.map((one) => one.p99)).toFixed(1)} ms`,
  )
  const ratio = rateOf(mine) / rateOf(bare)
  report(`${what} against a bare route of the same bytes`, `${ratio.toFixed(2)} ×`, 'at least 0.5 ×', ratio >= 0.5)
}
