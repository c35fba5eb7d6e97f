import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../tests/support/dns-peer.ts'
import { until } from '../../tests/support/until.ts'
import { createLog } from '../base/log.ts'
import { threadMs } from '../base/thread-time.ts'
import { bodiesOf } from '../mail/inbound/packed-mail.ts'
import type { SpooledMessage } from './inbound-message.ts'
import { createParsePool } from './parse-pool.ts'
import { maxAtOnce, type ReadMail } from './parse-task.ts'

const dns = await startDnsPeer({ 'example.org': { TXT: ['v=spf1 ip4:192.0.2.1 -all'] } })
const options = {
  mailDomain: 'posthaste.test',
  dnsServers: [dns.address],
  log: createLog('silent'),
  isRelay: (address: string) => address === '127.0.0.1',
}
const saboteur = new URL('../../tests/support/parse-saboteur.js', import.meta.url)
const pools: ReturnType<typeof createParsePool>[] = []
const poolWith = (more: object = {}) => {
  const pool = createParsePool({ ...options, ...more })
  pools.push(pool)
  return pool
}
after(async () => {
  await Promise.all(pools.map((pool) => pool.stop()))
  await dns.close()
})

const message = (subject: string, more: Partial<SpooledMessage> = {}): SpooledMessage => ({
  id: subject,
  received_at: new Date(),
  peer: { address: '192.0.2.1', name: 'mx.example.org', is_tls: false },
  envelope_from: 'ann@example.org',
  recipients: ['bob@posthaste.test'],
  raw: Buffer.from(`From: ann@example.org\r\nSubject: ${subject}\r\n\r\nHello\r\n`),
  ...more,
})

test('mail comes back read and judged, and its bytes stay', async () => {
  const pool = poolWith({ threads: 2 })
  const sent = message('one')
  const before = Buffer.from(sent.raw)
  const [one, relayed, bounce] = await Promise.all([
    pool.read(sent),
    pool.read(message('two', { peer: { address: '127.0.0.1', name: 'relay', is_tls: true } })),
    pool.read(message('three', { envelope_from: '' })),
  ])
  assert.deepEqual([one.parsed.subject, one.parsed.automatic, one.verdicts.spf.result], ['one', 'none', 'pass'])
  assert.equal(one.parsed.date, null)
  assert.deepEqual([relayed.parsed.subject, relayed.verdicts.spf.result], ['two', 'none'])
  assert.equal(bounce.parsed.automatic, 'bounce')
  assert.deepEqual(sent.raw, before)
})

test('what may tell of mail of ours is read for it in the thread, and costs this one next to nothing', async () => {
  const pool = poolWith({ threads: 1 })
  const head = 'From: MAILER-DAEMON@example.org\r\nSubject: Undelivered Mail\r\n\r\n'
  const [plain, bounce, wish] = await Promise.all([
    pool.read(message('one')),
    pool.read(message('two', { envelope_from: '', raw: Buffer.from(`${head}<gone@example.net>: 550 5.1.1 user unknown\r\n`) })),
    pool.read(message('three', { raw: Buffer.from('From: ann@example.org\r\nSubject: Re: News\r\n\r\nUnsubscribe\r\n') })),
  ])
  assert.equal(plain.backchannel, null)
  const report = bounce.backchannel?.report
  assert.deepEqual(report?.kind === 'bounce' && report.recipients.map(({ address, status }) => [address, status]), [
    ['gone@example.net', '5.1.1'],
  ])
  assert.deepEqual(wish.backchannel?.wish, { from: 'ann@example.org', copies: [], tokens: [] })

  const began = threadMs()
  const blank = await pool.read(message('four', { envelope_from: '', raw: Buffer.from(`${head}${'\r\n'.repeat(130_000)}x`) }))
  const folded = `Subject: complaint about message from\r\n${` ${"'".repeat(960)}\r\n`.repeat(100)} x`
  const quotes = await pool.read(message('five', { raw: Buffer.from(`From: ann@example.org\r\n${folded}\r\n\r\n\r\n`) }))
  assert.ok(threadMs() - began < 300, `${threadMs() - began} ms`)
  assert.deepEqual(
    [blank, quotes].map(({ parsed, backchannel }) => [parsed.problem, backchannel?.wish]),
    [
      [null, null],
      [null, null],
    ],
  )
})

test('a hundred at once come back each as itself', async () => {
  const pool = poolWith({ threads: 2 })
  const read = await Promise.all(Array.from({ length: 100 }, (_, number) => pool.read(message(`number ${number}`))))
  assert.deepEqual(
    read.map(({ parsed }) => parsed.subject),
    Array.from({ length: 100 }, (_, number) => `number ${number}`),
  )
})

test('whoever asks is told when there is nothing left to read', async () => {
  const pool = poolWith()
  const told: string[] = []
  pool.whenIdle(() => told.push('before'))
  assert.deepEqual(told, ['before'])
  const reading = Promise.all(Array.from({ length: 30 }, (_, number) => pool.read(message(`idle ${number}`))))
  pool.whenIdle(() => told.push('in between'))
  pool.whenIdle(() => told.push('after'))
  assert.deepEqual(told, ['before'])
  await reading
  await pool.read(message('once more'))
  assert.deepEqual(told, ['before', 'after'], 'only whoever asked last, and once')
})

test('reading mail gives way to all else', { skip: process.platform !== 'linux' && 'only Linux has priorities of threads' }, async () => {
  await poolWith().read(message('nice'))
  const isParser = (id: string) => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').trim() === 'parser'
  const priorities = () =>
    readdirSync('/proc/self/task')
      .filter(isParser)
      .map((id) => getPriority(Number(id))) // those of other tests among them
  const wanted = Math.min(19, getPriority() + 5)
  await until('all that read have stepped back', () => priorities().length > 0 && priorities().every((priority) => priority === wanted))
})

test('a message that is the end of its thread costs itself and no other', async () => {
  const pool = poolWith({ threads: 2, entry: saboteur })
  const subjects = Array.from({ length: 20 }, (_, number) => (number === 7 ? 'DIE' : `number ${number}`))
  const read = await Promise.all(subjects.map((subject) => pool.read(message(subject))))
  assert.deepEqual(
    read.map(({ parsed }) => parsed.subject),
    subjects.map((subject) => (subject === 'DIE' ? null : subject)),
  )
  assert.match(read[7]?.parsed.problem ?? '', /takes more time or memory/)
  assert.match(
    bodiesOf((read[7] as ReadMail).parsed, Buffer.alloc(0)).text_body ?? '',
    /The original message is kept and can be downloaded\.$/,
  )
  assert.equal(read[7]?.verdicts.authenticated_domain, null)
  assert.equal((await pool.read(message('after'))).parsed.subject, 'after')
})

test('a suspect gets its turn while others keep coming', async () => {
  const pool = poolWith({ threads: 2, entry: saboteur })
  let isOver = false
  const stream = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!isOver) await pool.read(message('more'))
    }),
  )
  const { parsed } = await pool.read(message('DIE'))
  isOver = true
  await stream
  assert.match(parsed.problem ?? '', /takes more time or memory/)
})

test('what cannot be read whole is known by its head', async () => {
  const { parsed } = await poolWith({ threads: 1, entry: saboteur }).read(message('DIE-WHOLE'))
  assert.deepEqual(
    [parsed.subject, parsed.from?.address, bodiesOf(parsed, Buffer.alloc(0)).html_body],
    ['DIE-WHOLE', 'ann@example.org', null],
  )
  assert.match(parsed.problem ?? '', /takes more time or memory/)
})

test('a thread that goes round and round is replaced', async () => {
  const pool = poolWith({ threads: 1, entry: saboteur, silentTicks: 1 })
  const [hung, other] = await Promise.all([pool.read(message('HANG')), pool.read(message('patient'))])
  assert.match(hung.parsed.problem ?? '', /takes more time or memory/)
  assert.equal(other.parsed.subject, 'patient')
})

test('while a thread hangs that may come back yet, another reads what does not fit in there', async () => {
  const pool = poolWith({ threads: 1, maxThreads: 2, entry: saboteur, silentTicks: 1_000 })
  const peer = { address: '127.0.0.1', name: 'relay', is_tls: true }
  const subjects = ['HANG', ...Array.from({ length: maxAtOnce }, (_, number) => `number ${number}`)]
  const reading = subjects.map((subject, number) => pool.read(message(subject, { peer, envelope_from: `ann@${number}.example.org` })))
  // All others wait until the pool is stopped.
  const stopped = reading.slice(0, -1).map((each) => assert.rejects(each, /has been stopped/))
  assert.equal((await (reading.at(-1) as (typeof reading)[0])).parsed.subject, subjects.at(-1))
  await pool.stop()
  await Promise.all(stopped)
})

test('a stop ends what is under way', async () => {
  const pool = poolWith({ threads: 1 })
  const rejected = assert.rejects(pool.read(message('never')), /has been stopped/)
  await pool.stop()
  await rejected
})
