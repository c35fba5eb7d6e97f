import { Agent, request } from 'node:http'
import { ask, sendingEnv } from './newsletter.ts'
import { processorTimeMs } from './processor-time.ts'
import { startSink } from './sink.ts'
import { machine, type Program, percentile, report, residentMb, startBench } from './support.ts'

/**
 * `npm run bench -- emails`: `POST /emails` two hundred times a second for a minute, each on its time whether or not the ones before
 * were answered, to a sink on this machine. SECONDS and RATE say otherwise.
 */
const seconds = Number(process.env.SECONDS ?? 60)
const rate = Number(process.env.RATE ?? 200)
const warmUpSeconds = 3

export async function run(): Promise<void> {
  console.log(`emails: POST /emails, ${rate} a second for ${seconds} s; ${machine()}`)
  const sink = await startSink()
  const bench = await startBench()
  try {
    const program = await bench.program(await bench.database('emails'), sendingEnv(sink))
    const { mailbox_address: from } = await ask(program, 'POST', '/lists', '{"name":"Receipts"}')
    const post = poster(program, from)
    await openLoop(post, warmUpSeconds * rate)
    const before = { taken: await sink.taken(), ms: processorTimeMs(program.pid) }
    const answers = await openLoop(post, seconds * rate)
    const cpuMs = (processorTimeMs(program.pid) - before.ms) / answers.length
    tell(answers, (await sink.taken()) - before.taken)
    console.log(`  processor time of the program for each: ${cpuMs.toFixed(2)} ms; memory: ${Math.round(residentMb(program.pid))} MB`)
  } finally {
    await bench.stop()
    sink.stop()
  }
}

interface Answer {
  status: number
  ms: number
}

function tell(answers: Answer[], arrived: number): void {
  const accepted = answers.filter(({ status }) => status >= 200 && status < 300).length
  const times = answers.map(({ ms }) => ms)
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)]
  report('p50', `${p50.toFixed(1)} ms`, 'under 15 ms', p50 < 15)
  report('p99', `${p99.toFixed(1)} ms`, 'under 60 ms', p99 < 60)
  report('answered with yes', String(accepted), `all ${answers.length}`, accepted === answers.length)
  report('messages that arrived', String(arrived), `as many as were answered with yes, ${accepted}`, arrived === accepted)
}

/** Each begins at its time; one that is late for it waits for nobody, and its time counts from when it should have begun. */
async function openLoop(send: (number: number, began: number) => Promise<Answer>, count: number): Promise<Answer[]> {
  const start = performance.now()
  const answers: Promise<Answer>[] = []
  while (answers.length < count) {
    const due = Math.min(count, Math.floor(((performance.now() - start) * rate) / 1000) + 1)
    while (answers.length < due) answers.push(send(answers.length, start + (answers.length * 1000) / rate))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return Promise.all(answers)
}

/** With node:http: what `fetch` does beside would be a good part of what is measured. */
function poster({ url, key }: Program, from: string): (number: number, began: number) => Promise<Answer> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  return (number, began) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify({
        from,
        to: `reader${number}@example.com`,
        subject: `Receipt ${number}`,
        text: `Thank you, number ${number}.`,
      })
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const asked = request(`${url}/v1/emails`, { method: 'POST', agent, headers }, (answer) => {
        answer.resume()
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - began }))
      })
      asked.on('error', reject)
      asked.end(body)
    })
}
