import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConnectionSettings } from '../server/database/database.ts'
import { withClient } from '../tests/support/database.ts'
import { startDnsPeer } from '../tests/support/dns-peer.ts'
import { createSigningDomain } from '../tests/support/signed-mail.ts'
import { processorTimeMs } from './processor-time.ts'
import { smtpSourceRate } from './references.ts'
import { type Bench, freePort, median, type Program, percentile, report, residentMb, until } from './support.ts'

interface Filing {
  bench: Bench
  connection: ConnectionSettings
  /** Messages a second that a bare server throws away, just now: a minute later the same machine may be half as quick again. */
  discard(messages: number, file?: string): Promise<number>
  to: string
  octets: number
  sessions: number
  count: number
  rounds: number
  /** So many more, over which the memory must not grow. */
  long: number
}

const minShare = 0.2

/**
 * The whole program with everything on: accepted, read, judged, filed, and the raw message on the disk. From the first connection until
 * the last message is in its mailbox, so that nothing is left to do later.
 */
export async function measureFiling(filing: Filing): Promise<void> {
  const domain = createSigningDomain('bench.test')
  const dns = await startDnsPeer({
    ...domain.names,
    'bench.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    '_dmarc.bench.test': { TXT: ['v=DMARC1; p=reject'] },
  })
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-bench-mail-'))
  const smtpPort = await freePort()
  const env = {
    SMTP_PORT: String(smtpPort),
    SMTP_HOST: '127.0.0.1',
    SMTP_RELAYS: '127.0.0.1',
    DNS_SERVERS: dns.address,
    OUTBOUND: 'capture',
  }
  const program = await filing.bench.program(filing.connection, env)
  try {
    const signed = join(folder, 'signed.eml')
    // smtp-source ends the lines itself.
    writeFileSync(signed, (await domain.sign(mailOf(filing.octets))).toString('latin1').replaceAll('\r\n', '\n'))
    // The bare server has had its start behind it for long, and what is asked for is what lasts.
    await send(filing, { smtpPort })
    await sendInTurns(filing, program, { smtpPort, name: 'filed: unsigned text' })
    await sendInTurns(filing, program, { smtpPort, name: 'filed: with a DKIM signature', file: signed })
    const verdict = await one<{ signed: string }>(
      filing.connection,
      `select count(*) as signed from emails where direction = 'inbound' and verdicts->>'authenticated_domain' = 'bench.test'`,
    )
    const all = filing.rounds * filing.count
    report('of which were found to be signed', String(verdict.signed), `all ${all}`, Number(verdict.signed) === all)
    report(
      'memory after that',
      `${Math.round(residentMb(program.pid))} MB`,
      'at most 600 MB, threads included',
      residentMb(program.pid) <= 600,
    )
    if (filing.long > 0) await watchMemory(filing, program, smtpPort)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await program.stop()
    await dns.close()
  }
}

/** What the first tenth has taken is what it needs; the rest must not take more. */
async function watchMemory(filing: Filing, program: Program, smtpPort: number): Promise<void> {
  const tenths: number[] = []
  const turns: Turn[] = []
  for (let tenth = 0; tenth < 10; tenth++) {
    turns.push(await takeTurn(filing, { smtpPort, messages: filing.long / 10 }))
    tenths.push(residentMb(program.pid))
  }
  reportTurns(`filed: ${filing.long} more`, turns)
  const [first = 0, last = 0] = [tenths[0], tenths.at(-1)]
  const all = tenths.map((mb) => Math.round(mb)).join(', ')
  report(
    `memory over ${filing.long} more messages`,
    `${Math.round(last)} MB`,
    `by tenths ${all}; the last at most 1.2 × the first`,
    last <= 1.2 * first,
  )
}

interface Sending {
  smtpPort: number
  messages?: number
  file?: string
}

/** In turns with the bare server; what counts is the median of how the two compare each time. */
async function sendInTurns(filing: Filing, program: Program, { smtpPort, name, file }: Sending & { name: string }): Promise<void> {
  const turns: Turn[] = []
  const before = { program: processorTimeMs(program.pid), postgres: processorTimeMs(filing.bench.postgresPid) }
  for (let round = 0; round < filing.rounds; round++) turns.push(await takeTurn(filing, { smtpPort, ...(file ? { file } : {}) }))
  const perMessage = (pid: number, since: number) => `${((processorTimeMs(pid) - since) / (filing.rounds * filing.count)).toFixed(2)} ms`
  const times = `program ${perMessage(program.pid, before.program)}, PostgreSQL ${perMessage(filing.bench.postgresPid, before.postgres)}`
  reportTurns(name, turns, `; processor time a message: ${times}`)
}

interface Turn {
  /** Messages a second. */
  rate: number
  /** Of what the bare server made right before. */
  share: number
}

async function takeTurn(filing: Filing, sending: Sending): Promise<Turn> {
  const discarded = await filing.discard(filing.count, sending.file)
  const rate = await send(filing, sending)
  return { rate, share: rate / discarded }
}

function reportTurns(name: string, turns: Turn[], more = ''): void {
  const shares = turns.map(({ share }) => share)
  const [least, middle, most] = [percentile(shares, 0), median(shares), percentile(shares, 1)].map((share) => share.toFixed(2))
  report(
    name,
    `${Math.round(median(turns.map(({ rate }) => rate)))}/s`,
    `${middle} × (${least} to ${most}), at least ${minShare} ×${more}`,
    median(shares) >= minShare,
  )
}

/** Messages a second, from the first connection until the last of them is filed. */
async function send({ connection, to, octets, sessions, count }: Filing, { smtpPort, file, messages = count }: Sending): Promise<number> {
  const before = await filedIn(connection)
  const began = performance.now()
  await smtpSourceRate({ port: smtpPort, count: messages, connections: sessions, to, ...(file ? { file } : {}) }, octets)
  await until(async () => (await filedIn(connection)) === before + messages, { withinMs: 300_000, everyMs: 20 })
  return (messages * 1000) / (performance.now() - began)
}

const filedIn = async (connection: ConnectionSettings): Promise<number> =>
  Number((await one<{ count: string }>(connection, `select count(*) from emails where direction = 'inbound'`)).count)

const one = <Row extends object>(connection: ConnectionSettings, text: string): Promise<Row> =>
  withClient(connection, async (client) => (await client.query<Row>(text)).rows[0] as Row)

function mailOf(octets: number): string {
  const head =
    'From: Ann <a@bench.test>\r\nTo: ann@bench.test\r\nSubject: A message of a person\r\nDate: Mon, 16 Nov 2026 09:30:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n'
  const line = 'Words that people write to one another, some seventy in a line.\r\n'
  return head + line.repeat(Math.ceil((octets - head.length) / line.length))
}
