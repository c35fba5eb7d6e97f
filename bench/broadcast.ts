import { finishedNewsletter } from './compile.ts'
import { connections, makeKey, newList, type Sent, sendingEnv } from './newsletter.ts'
import { nodemailerRate, opensslRate, smtpSourceRate } from './references.ts'
import { startSink } from './sink.ts'
import { machine, median, percentile, report, startBench } from './support.ts'

/**
 * `npm run bench -- broadcast`: a newsletter of 30 kB with 20 counted links and a greeting, from the press of "send" until the ledger is
 * complete and the post says so, to a sink on this machine. The references run in turns with it, on the same two cores. N says to how
 * many, ROUNDS how often.
 */
const recipients = Number(process.env.N ?? 50_000)
const rounds = Number(process.env.ROUNDS ?? 3)
const octets = 36_000

export async function run(): Promise<void> {
  console.log(`broadcast: ${recipients.toLocaleString('en')} recipients, median of ${rounds}; ${machine()}`)
  const sink = await startSink()
  const { port } = sink
  const bench = await startBench()
  try {
    const open = async (name: string, isSigned: boolean) => {
      const connection = await bench.database(name)
      const program = await bench.program(connection, sendingEnv(sink))
      if (isSigned) await makeKey(connection)
      return newList({ bench, program, sink, recipients })
    }
    const [plain, signed] = [await open('plain', false), await open('signed', true)]
    const newsletterFor = await finishedNewsletter()
    const all: Round[] = []
    for (let round = 0; round < rounds; round++) {
      all.push({
        smtpSource: await smtpSourceRate({ port, count: recipients, connections }, octets),
        ours: await plain(),
        nodemailer: await nodemailerRate({ port, count: 3_000, connections }, newsletterFor),
        openssl: opensslRate(10),
        signed: await signed(),
      })
      console.log(`  round ${round + 1}: ${roundInWords(all.at(-1) as Round)}`)
    }
    tell(all)
  } finally {
    await bench.stop()
    sink.stop()
  }
}

interface Round {
  smtpSource: number | null
  nodemailer: number
  openssl: number | null
  ours: Sent
  signed: Sent
}

const perSecond = (rate: number | null): string => (rate === null ? 'missing' : `${Math.round(rate).toLocaleString('en')}/s`)
const roundInWords = ({ smtpSource, nodemailer, openssl, ours, signed }: Round): string =>
  `ours ${perSecond(ours.rate)}, signed ${perSecond(signed.rate)}; smtp-source ${perSecond(smtpSource)}, nodemailer ${perSecond(nodemailer)}, openssl ${perSecond(openssl)}`

function tell(all: Round[]): void {
  tellRatio(
    'unsigned',
    { name: 'smtp-source', least: 0.25 },
    all.map(({ ours, smtpSource }) => [ours.rate, smtpSource]),
  )
  tellRatio(
    'unsigned',
    { name: 'nodemailer’s pool', least: 10 },
    all.map(({ ours, nodemailer }) => [ours.rate, nodemailer]),
  )
  tellRatio(
    'signed with RSA-2048',
    { name: 'openssl speed -multi 2', least: 0.45 },
    all.map(({ signed, openssl }) => [signed.rate, openssl]),
  )
  for (const kind of ['ours', 'signed'] as const) {
    const runs = all.map((one) => one[kind])
    const suffix = kind === 'ours' ? '' : ', signing'
    const p99 = percentile(
      runs.flatMap(({ latencies }) => latencies),
      0.99,
    )
    const loop = median(runs.map(({ eventLoopP99 }) => eventLoopP99))
    console.log(`  processor time for each message${suffix}: ${timesInWords(runs)}`)
    const memory = Math.max(...runs.map(({ memory: most }) => most))
    report(`p99 of GET /lists/{id} meanwhile${suffix}`, `${p99.toFixed(1)} ms`, 'under 100 ms', p99 < 100)
    report(`p99 of the event loop’s delay${suffix}`, `${loop.toFixed(1)} ms`, 'under 30 ms', loop < 30)
    report(`most memory of the Node process${suffix}`, `${Math.round(memory)} MB`, 'under 300 MB', memory < 300)
    const arrived = runs.reduce((sum, one) => sum + one.arrived, 0)
    report(`messages that arrived${suffix}`, String(arrived), `all ${rounds * recipients}`, arrived === rounds * recipients)
  }
}

const timesInWords = (runs: Sent[]): string => {
  const of = (key: 'nodeMs' | 'postgresMs' | 'sinkMs') => median(runs.map((one) => one[key])).toFixed(3)
  return `the program ${of('nodeMs')} ms, PostgreSQL ${of('postgresMs')} ms, the sink ${of('sinkMs')} ms`
}

/** The machine is not equally fast all the time: what ran one after the other is compared, and the median of that is told. */
function tellRatio(what: string, { name, least }: { name: string; least: number }, pairs: [ours: number, theirs: number | null][]) {
  const ratios = pairs.flatMap(([ours, theirs]) => (theirs === null ? [] : [ours / theirs]))
  if (ratios.length === 0) return console.log(`- ${what}: ${name} is missing on this machine`)
  const ratio = median(ratios)
  const each = ratios.map((one) => one.toFixed(2)).join(', ')
  report(`${what}, against ${name}`, `${ratio.toFixed(2)} ×`, `median of ${each}; at least ${least} ×`, ratio >= least)
}
