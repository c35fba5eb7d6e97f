import { newList, type Sent, sendingEnv } from './newsletter.ts'
import { startSink } from './sink.ts'
import { machine, median, report, startBench } from './support.ts'

/**
 * `npm run bench -- broadcast-million`: what a message costs in a broadcast to a million recipients, against one to ten thousand, by
 * the same program on the same database. The small one is sent several times before and after the large one. N says how large.
 */
const large = Number(process.env.N ?? 1_000_000)
const small = 10_000
const smallRounds = 5
const most = 1.1

export async function run(): Promise<void> {
  console.log(`broadcast-million: ${inWords(large)} recipients against ${inWords(small)}; ${machine()}`)
  const sink = await startSink()
  const bench = await startBench()
  try {
    const program = await bench.program(await bench.database('million'), sendingEnv(sink))
    const toFew = await newList({ bench, program, sink, recipients: small })
    await toFew()
    const began = performance.now()
    const toMany = await newList({ bench, program, sink, recipients: large })
    console.log(`  imported in ${Math.round((performance.now() - began) / 1000)} s`)
    const few = await repeat(smallRounds, toFew)
    const many = await toMany()
    console.log(`  ${inWords(large)}: ${inFigures([many])}`)
    few.push(...(await repeat(smallRounds, toFew)))
    console.log(`  ${inWords(small)}, median of ${few.length}: ${inFigures(few)}`)
    tell(few, many)
  } finally {
    await bench.stop()
    sink.stop()
  }
}

async function repeat(times: number, send: () => Promise<Sent>): Promise<Sent[]> {
  const sent: Sent[] = []
  while (sent.length < times) sent.push(await send())
  return sent
}

const inWords = (count: number): string => count.toLocaleString('en')
const medianBy = (runs: Sent[], of: (one: Sent) => number): number => median(runs.map(of))
const costOf = ({ nodeMs, postgresMs }: Sent): number => nodeMs + postgresMs

const inFigures = (runs: Sent[]): string =>
  `${Math.round(medianBy(runs, ({ rate }) => rate))}/s, processor time for each message: the program ${medianBy(runs, ({ nodeMs }) => nodeMs).toFixed(3)} ms, PostgreSQL ${medianBy(runs, ({ postgresMs }) => postgresMs).toFixed(3)} ms`

function tell(few: Sent[], many: Sent): void {
  const cost = costOf(many) / medianBy(few, costOf)
  const time = medianBy(few, ({ rate }) => rate) / many.rate
  report('processor time for each message, large against small', `${cost.toFixed(2)} ×`, `at most ${most} ×`, cost <= most)
  report('time for each message, likewise', `${time.toFixed(2)} ×`, `at most ${most} ×`, time <= most)
  for (const [name, runs] of [
    [inWords(small), few],
    [inWords(large), [many]],
  ] as [string, Sent[]][]) {
    const memory = Math.max(...runs.map((one) => one.memory))
    report(`most memory of the Node process, ${name}`, `${Math.round(memory)} MB`, 'under 300 MB', memory < 300)
    const [arrived, expected] = [runs.reduce((sum, one) => sum + one.arrived, 0), runs.reduce((sum, one) => sum + one.recipients, 0)]
    report(`messages that arrived, ${name}`, String(arrived), `all ${expected}`, arrived === expected)
  }
}
