import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { readParts } from './read-parts.ts'
import { readReport as readReportIn } from './read-report.ts'
import type { Report } from './report.ts'

const folder = join(import.meta.dirname, 'fixtures')
const fixtures = globSync('*.eml', { cwd: folder })
  .sort()
  .map((file) => ({ name: basename(file, '.eml'), raw: readFileSync(join(folder, file)) }))

async function readReport(raw: Buffer): Promise<Report | null> {
  const parts = await readParts(raw)
  return parts && readReportIn(parts)
}

test('every mail of the collection is read exactly as the file beside it says', async (t) => {
  const counts = { bounce: 0, complaint: 0, none: 0 }
  for (const { name, raw } of fixtures) {
    const expected = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'))
    assert.deepEqual(await readReport(raw), expected, name)
    counts[(expected?.kind ?? 'none') as keyof typeof counts]++
  }
  assert.ok(fixtures.length >= 60)
  assert.equal(globSync('*.json', { cwd: folder }).length, fixtures.length)
  t.diagnostic(`${counts.bounce} bounces, ${counts.complaint} complaints, ${counts.none} others`)
})

test('line ends of any kind mean the same', async () => {
  for (const { name, raw } of fixtures) {
    const withLf = Buffer.from(raw.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
    assert.deepEqual(await readReport(withLf), await readReport(raw), name)
  }
})

/** A small generator of its own (xorshift32), so that a run can be repeated by its seed. */
function chanceFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const splices = [
  '\r\n',
  '\r\n\r\n',
  '\0',
  ':',
  ';',
  '--',
  '<>',
  '@',
  '=?utf-8?B?',
  'Content-Type: multipart/mixed; boundary=x\r\n',
  'Final-Recipient: ',
  '\x1b',
  'é',
  '\ud83e\udd8a',
  ' '.repeat(500),
  '550 5.1.1 ',
  '\\x{110000}',
  '&#xD800;',
]

function mutate(raw: Buffer, other: Buffer, chance: (below: number) => number): Buffer {
  const at = chance(raw.length)
  const length = chance(200)
  switch (chance(6)) {
    case 0: {
      const changed = Buffer.from(raw)
      for (let count = chance(20) + 1; count > 0; count--) changed[chance(changed.length)] = chance(256)
      return changed
    }
    case 1:
      return raw.subarray(0, at)
    case 2:
      return Buffer.concat([raw.subarray(0, at), raw.subarray(at + length)])
    case 3:
      return Buffer.concat([raw.subarray(0, at), raw.subarray(Math.max(0, at - length))])
    case 4:
      return Buffer.concat([raw.subarray(0, at), other.subarray(chance(other.length))])
    default:
      return Buffer.concat([raw.subarray(0, at), Buffer.from(splices[chance(splices.length)] as string), raw.subarray(at)])
  }
}

test('damaged mail never throws: 20,000 mutations', async (t) => {
  const seed = Number(process.env.FUZZ_SEED ?? 20261115)
  const chance = chanceFrom(seed)
  let [slow, slowest, reports] = [0, 0, 0]
  for (let round = 0; round < 20_000; round++) {
    const pick = () => (fixtures[chance(fixtures.length)] as (typeof fixtures)[number]).raw
    let raw = mutate(pick(), pick(), chance)
    while (chance(3) === 0 && raw.length > 0) raw = mutate(raw, pick(), chance)
    const begin = performance.now()
    const report = await readReport(raw).catch((error: unknown) => assert.fail(`seed ${seed}, round ${round}: ${error}`))
    const took = performance.now() - begin
    slowest = Math.max(slowest, took)
    if (took > 250) slow++
    if (report) reports++
  }
  t.diagnostic(`seed ${seed}: ${reports} of 20,000 still reports, ${slow} over 250 ms, slowest ${slowest.toFixed(1)} ms`)
})

test('only the beginning of a mail is looked at, whatever its size and shape', async (t) => {
  const bounce = readFileSync(join(folder, 'dsn-postfix-user-unknown.eml'))
  const expected = await readReport(bounce)
  const end = bounce.lastIndexOf('--9B2A')
  const filler = Buffer.alloc(25 * 1024 * 1024, `${'x'.repeat(76)}\r\n`)
  const parts = '--m\r\nContent-Type: text/plain\r\n\r\n550 5.1.1 <ann@example.org> user unknown\r\n'
  const mixed = 'From: MAILER-DAEMON@example.org\r\nSubject: Undelivered Mail\r\nContent-Type: multipart/mixed; boundary=m\r\n\r\n'
  const nested = Array.from(
    { length: 1000 },
    (_, depth) => `Content-Type: multipart/mixed; boundary=n${depth}\r\n\r\n--n${depth}\r\n`,
  ).join('')
  const large: [name: string, raw: Buffer, expected: unknown][] = [
    ['a returned message of 25 MB', Buffer.concat([bounce.subarray(0, end), filler, bounce.subarray(end)]), expected],
    ['25 MB of nothing', filler, null],
    ['25 MB without a line end', Buffer.alloc(25 * 1024 * 1024, 'x'), null],
    ['25 MB of zeros', Buffer.alloc(25 * 1024 * 1024), null],
    ['1,000 parts', Buffer.from(mixed + parts.repeat(1000)), 'any'],
    ['1,000 parts, one in another', Buffer.from(`From: a@example.org\r\n${nested}`), null],
    [
      '100,000 recipients',
      Buffer.from(
        bounce.toString('latin1').replace(/(Final-Recipient[\s\S]*?table\r\n)/, (block) => `${block}\r\n`.repeat(100_000)),
        'latin1',
      ),
      'any',
    ],
    ['a header of 10 MB', Buffer.from(`Subject: ${'a '.repeat(5_000_000)}\r\n\r\nx`), null],
    ['100,000 fields', Buffer.from(`${'X: y\r\n'.repeat(100_000)}\r\nx`), null],
    [
      'a hundred thousand addresses',
      Buffer.from(
        `From: MAILER-DAEMON@example.org\r\nSubject: Undelivered\r\n\r\ncould not be delivered\r\n${'<a@example.org>: 550 no\r\n'.repeat(100_000)}`,
      ),
      'any',
    ],
    [
      'spaces and colons',
      Buffer.from(`From: MAILER-DAEMON@example.org\r\nSubject: Undelivered\r\n\r\nmailbox ${'user '.repeat(50_000)}:${' '.repeat(50_000)}`),
      'any',
    ],
    [
      'HTML that opens and never closes',
      Buffer.from(`From: MAILER-DAEMON@example.org\r\nContent-Type: text/html\r\n\r\n${'<head><style>'.repeat(20_000)}`),
      null,
    ],
  ]
  for (const [name, raw, wanted] of large) {
    const begin = performance.now()
    const report = await readReport(raw)
    t.diagnostic(`${name}: ${(performance.now() - begin).toFixed(0)} ms`)
    if (wanted !== 'any') assert.deepEqual(report, wanted, name)
    assert.ok(JSON.stringify(report).length < 1_000_000, name)
  }
})
