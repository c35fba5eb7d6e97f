import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { systemClock } from '../server/base/clock.ts'
import type { ProjectId } from '../server/base/ids.ts'
import { createLog } from '../server/base/log.ts'
import { createSecrets } from '../server/base/secrets.ts'
import { type ConnectionSettings, openDatabase } from '../server/database/database.ts'
import { ensureSigningKeys } from '../server/delivery/signing-keys.ts'
import { source } from './compile.ts'
import { nodemailerRate, opensslRate, smtpSourceRate } from './references.ts'
import { machine, median, type Program, percentile, report, residentMb, startBench, until } from './support.ts'

/**
 * `npm run bench -- broadcast`: a newsletter of 30 kB with 20 counted links and a greeting, from the press of "send" until the ledger is
 * complete and the post says so, to a sink on this machine. The references run in turns with it, on the same two cores. N says to how
 * many, ROUNDS how often.
 */
const recipients = Number(process.env.N ?? 20_000)
const rounds = Number(process.env.ROUNDS ?? 3)
const connections = 20
const octets = 36_000
const secretKey = 'a key for benchmarks, long enough to be taken'
const mailDomain = 'bench.test'

export async function run(): Promise<void> {
  console.log(`broadcast: ${recipients.toLocaleString('en')} recipients, median of ${rounds}; ${machine()}`)
  const sink = fork(new URL('./smtp-sink.ts', import.meta.url))
  const [{ port }] = (await once(sink, 'message')) as [{ port: number }]
  const bench = await startBench()
  try {
    const env = { OUTBOUND: `smtp://127.0.0.1:${port}?connections=${connections}`, SECRET_KEY: secretKey, MAIL_DOMAIN: mailDomain }
    const open = async (name: string, isSigned: boolean) => {
      const connection = await bench.database(name)
      const program = await bench.program(connection, env)
      if (isSigned) await makeKey(connection)
      return newList(program, sink)
    }
    const [plain, signed] = [await open('plain', false), await open('signed', true)]
    const all: Round[] = []
    for (let round = 0; round < rounds; round++) {
      all.push({
        smtpSource: await smtpSourceRate({ port, count: recipients, connections }, octets),
        ours: await plain(),
        nodemailer: await nodemailerRate(
          { port, count: 1_000, connections },
          { subject: source.subject, html: source.html, text: 'Hello' },
        ),
        openssl: opensslRate(),
        signed: await signed(),
      })
      console.log(`  round ${round + 1}: ${roundInWords(all.at(-1) as Round)}`)
    }
    tell(all)
  } finally {
    await bench.stop()
    sink.kill()
  }
}

interface Round {
  smtpSource: number | null
  nodemailer: number
  openssl: number | null
  ours: Sent
  signed: Sent
}

interface Sent {
  rate: number
  arrived: number
  memory: number
  latencies: number[]
  eventLoopP99: number
  /** Of the Node process, for each message. */
  cpuMs: number
}

const perSecond = (rate: number | null): string => (rate === null ? 'missing' : `${Math.round(rate).toLocaleString('en')}/s`)
const roundInWords = ({ smtpSource, nodemailer, openssl, ours, signed }: Round): string =>
  `ours ${perSecond(ours.rate)}, signed ${perSecond(signed.rate)}; smtp-source ${perSecond(smtpSource)}, nodemailer ${perSecond(nodemailer)}, openssl ${perSecond(openssl)}`

function tell(all: Round[]): void {
  const [ours, signed] = [median(all.map((one) => one.ours.rate)), median(all.map((one) => one.signed.rate))]
  tellRatio('unsigned', ours, { name: 'smtp-source', rate: medianOf(all.map((one) => one.smtpSource)), least: 0.25 })
  tellRatio('unsigned', ours, { name: 'nodemailer’s pool', rate: median(all.map((one) => one.nodemailer)), least: 10 })
  tellRatio('signed with RSA-2048', signed, { name: 'openssl speed -multi 2', rate: medianOf(all.map((one) => one.openssl)), least: 0.45 })
  for (const kind of ['ours', 'signed'] as const) {
    const runs = all.map((one) => one[kind])
    const suffix = kind === 'ours' ? '' : ', signing'
    const p99 = percentile(
      runs.flatMap(({ latencies }) => latencies),
      0.99,
    )
    const loop = median(runs.map(({ eventLoopP99 }) => eventLoopP99))
    console.log(`  processor time of Node for each message${suffix}: ${median(runs.map(({ cpuMs }) => cpuMs)).toFixed(3)} ms`)
    const memory = Math.max(...runs.map(({ memory: most }) => most))
    report(`p99 of GET /lists/{id} meanwhile${suffix}`, `${p99.toFixed(1)} ms`, 'under 100 ms', p99 < 100)
    report(`p99 of the event loop’s delay${suffix}`, `${loop.toFixed(1)} ms`, 'under 30 ms', loop < 30)
    report(`most memory of the Node process${suffix}`, `${Math.round(memory)} MB`, 'under 300 MB', memory < 300)
    const arrived = runs.reduce((sum, one) => sum + one.arrived, 0)
    report(`messages that arrived${suffix}`, String(arrived), `all ${rounds * recipients}`, arrived === rounds * recipients)
  }
}

const medianOf = (values: (number | null)[]): number | null => (values.includes(null) ? null : median(values as number[]))

function tellRatio(what: string, ours: number, { name, rate, least }: { name: string; rate: number | null; least: number }) {
  if (rate === null) return console.log(`- ${what} ${perSecond(ours)}; ${name} is missing on this machine`)
  const ratio = ours / rate
  report(
    `${what}, against ${name}`,
    `${ratio.toFixed(2)} ×`,
    `${perSecond(ours)} of ${perSecond(rate)}, at least ${least} ×`,
    ratio >= least,
  )
}

async function makeKey(connection: ConnectionSettings): Promise<void> {
  const database = openDatabase({ connection, clock: systemClock, log: createLog('warn') })
  const owner = await database.first<{ id: ProjectId }>`select owner_project_id as id from instance`
  const parts = { database, secrets: createSecrets(secretKey), clock: systemClock }
  await ensureSigningKeys(parts, { project_id: owner?.id as ProjectId, domain: mailDomain, algorithms: ['rsa-sha256'] })
  await database.close()
}

/** A list with all recipients; answers what sends them one post. */
async function newList(program: Program, sink: ChildProcess): Promise<() => Promise<Sent>> {
  const ask = async (method: string, path: string, body?: string, type = 'application/json') => {
    const headers = { authorization: `Bearer ${program.key}`, ...(body ? { 'content-type': type } : {}) }
    const answer = await fetch(`${program.url}/v1${path}`, { method, headers, body: body ?? null })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { id: string; status: string }
  }
  const { id } = await ask('POST', '/lists', '{"name":"Bench"}')
  await ask('PATCH', `/lists/${id}`, '{"track_clicks":true,"track_opens":true}')
  const rows = Array.from({ length: recipients }, (_, n) => `reader${n}@example${n % 500}.com,Reader Number ${n}\n`)
  await ask('POST', `/lists/${id}/subscribers/import`, `email,name\n${rows.join('')}`, 'text/csv')
  return async () => {
    const post = await ask('POST', `/lists/${id}/posts`, JSON.stringify({ subject: source.subject, body_html: source.html }))
    const path = `/lists/${id}/posts/${post.id}`
    const before = await takenBy(sink)
    await program.eventLoop()
    const watch = watchProgram(program, () => ask('GET', `/lists/${id}`))
    const began = performance.now()
    await ask('POST', `${path}/send`)
    await until(async () => (await ask('GET', path)).status === 'sent', 600_000)
    const seconds = (performance.now() - began) / 1000
    const { latencies, memory } = await watch.stop()
    const { p99, cpuMs } = await program.eventLoop()
    return {
      rate: recipients / seconds,
      arrived: (await takenBy(sink)) - before,
      memory,
      latencies,
      eventLoopP99: p99,
      cpuMs: cpuMs / recipients,
    }
  }
}

/** Asks every 20 ms, and notes how long it took and how much memory the program had. */
function watchProgram({ pid }: Program, ask: () => Promise<unknown>) {
  const latencies: number[] = []
  let memory = 0
  let isRunning = true
  const watching = (async () => {
    while (isRunning) {
      const began = performance.now()
      await ask()
      latencies.push(performance.now() - began)
      memory = Math.max(memory, residentMb(pid))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  return {
    async stop() {
      isRunning = false
      await watching
      return { latencies, memory }
    },
  }
}

async function takenBy(sink: ChildProcess): Promise<number> {
  const answer = once(sink, 'message')
  sink.send('how many?')
  const [{ taken }] = (await answer) as [{ taken: number }]
  return taken
}
