import { createTransport as createNodemailer } from 'nodemailer'
import { createSmtpTransport } from '../server/delivery/transports/smtp.ts'
import { startSink } from './sink.ts'
import { machine, median, report } from './support.ts'

/** Ready messages of 36 kB over ten connections to a sink on this machine: what the client costs, and nodemailer's pool beside it. */
const connections = 10
const rounds = 3
const size = 36_000

export async function run(): Promise<void> {
  console.log(`smtp: messages a second, median of ${rounds}; ${machine()}`)
  const sink = await startSink()
  const { port } = sink
  const [ours, whole, theirs]: number[][] = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    ours?.push(await withOurs(port, 20_000, true))
    whole?.push(await withOurs(port, 10_000, false))
    theirs?.push(await withNodemailer(port, 3_000))
  }
  const expected = rounds * (20_000 + 10_000 + 3_000)
  const taken = await sink.taken()
  sink.stop()
  const [fast, safe, slow] = [median(ours ?? []), median(whole ?? []), median(theirs ?? [])]
  report(
    'our client, in parts known to be safe',
    `${Math.round(fast)}/s`,
    `${(fast / slow).toFixed(1)} × nodemailer, at least 4 ×`,
    fast > 4 * slow,
  )
  report(
    'our client, each message looked through for dots',
    `${Math.round(safe)}/s`,
    `${(safe / slow).toFixed(1)} × nodemailer`,
    safe > slow,
  )
  report('nodemailer, the same bytes as they are', `${Math.round(slow)}/s`, 'for comparison', true)
  report('messages that arrived', String(taken), `all ${expected}`, taken === expected)
}

const line = `${'x'.repeat(74)}\r\n`
const [head, body] = [Buffer.from('Subject: Hello\r\n\r\n'), Buffer.from(line.repeat(Math.floor(size / line.length)))]
const whole = Buffer.concat([head, body])

async function withOurs(port: number, count: number, isDotSafe: boolean): Promise<number> {
  const transport = createSmtpTransport(`smtp://127.0.0.1:${port}?connections=${connections}`, { max_messages: 1_000_000 })
  const about = { message_id: 'm@bench.test', subject: 'Hello', isDotSafe }
  const perSecond = await measure(count, 3 * connections, async (index) => {
    const envelope = { from: 'b@bench.test', to: `r${index}@bench.test` }
    const { kind } = await transport.send(envelope, isDotSafe ? [head, body] : whole, about)
    if (kind !== 'delivered') throw new Error(`The sink answered: ${kind}`)
  })
  await transport.close()
  return perSecond
}

async function withNodemailer(port: number, count: number): Promise<number> {
  const pool = createNodemailer({
    pool: true,
    host: '127.0.0.1',
    port,
    maxConnections: connections,
    maxMessages: 1_000_000,
    ignoreTLS: true,
  })
  const perSecond = await measure(count, 3 * connections, async (index) => {
    await pool.sendMail({ raw: whole, envelope: { from: 'b@bench.test', to: `r${index}@bench.test` } })
  })
  pool.close()
  return perSecond
}

/** So many at a time, until all are sent. */
async function measure(count: number, atOnce: number, send: (index: number) => Promise<void>): Promise<number> {
  const began = performance.now()
  let next = 0
  const worker = async () => {
    while (next < count) await send(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return (count * 1000) / (performance.now() - began)
}
