import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { parseMail, readAttachment } from './parse-mail.ts'
import { parsedNothing } from './parsed-mail.ts'

const folder = join(import.meta.dirname, 'fixtures')
const fixture = (name: string) => readFileSync(join(folder, `${name}.eml`))
const mail = (...lines: string[]) => Buffer.from(lines.join('\r\n'))

/** What a `.json` leaves out is empty. */
const empty = { ...parsedNothing(''), text: null, problem: null }

for (const file of globSync(join(folder, '*.json')).sort()) {
  const name = basename(file, '.json')
  test(`reads ${name}`, async () => {
    const { headers, text_in_raw, ...expected } = { ...empty, ...(JSON.parse(readFileSync(file, 'utf8')) as object) }
    const { headers: _headers, text_in_raw: _place, ...parsed } = await parseMail(fixture(name))
    assert.deepEqual(JSON.parse(JSON.stringify(parsed)), expected)
  })
}

test('the headers are there in their order, unfolded and decoded, by lower-case names', async () => {
  const { headers } = await parseMail(
    mail('Received: from a', '\tby b', 'X-Note: =?utf-8?Q?caf=C3=A9?=', 'x-NOTE: again', 'Broken line', 'Subject: Hi', '', 'x'),
  )
  assert.deepEqual(headers.slice(0, 3), [
    { name: 'received', value: 'from a\tby b' },
    { name: 'x-note', value: 'café' },
    { name: 'x-note', value: 'again' },
  ])
  assert.deepEqual(headers.at(-1), { name: 'subject', value: 'Hi' })
})

test('what came without a sender is a bounce, unless it says that it is something else', async () => {
  assert.equal((await parseMail(fixture('plain'), { envelope_from: '' })).automatic, 'bounce')
  assert.equal((await parseMail(fixture('plain'), { envelope_from: 'ann@example.org' })).automatic, 'none')
  assert.equal((await parseMail(fixture('out-of-office'), { envelope_from: '' })).automatic, 'auto-reply')
})

test('an attachment is read out of the raw message by its number', async () => {
  const report = await readAttachment(fixture('attachment'), 1)
  assert.deepEqual([report?.about.filename, report?.about.content_type], ['report.pdf', 'application/pdf'])
  assert.deepEqual(report?.bytes, Buffer.from('%PDF-1.4 not really'))
  const inner = await readAttachment(fixture('forwarded-as-attachment'), 1)
  assert.match(inner?.bytes.toString() ?? '', /^From: eve@example\.net\r?\nSubject: Inner/)
  for (const number of [0, 2, -1, 1.5, Number.NaN]) assert.equal(await readAttachment(fixture('attachment'), number), null)
  assert.equal(await readAttachment(fixture('too-deep'), 1), null)
})

test('what is stored fits a row, however long the message is', async () => {
  const long = await parseMail(
    mail(`Subject: ${'s'.repeat(5_000)}`, `From: ${'n'.repeat(5_000)} <a@example.org>`, '', 'word '.repeat(1_000_000)),
  )
  assert.equal(long.subject?.length, 1_000)
  assert.equal(long.from?.name?.length, 300)
  assert.equal(long.text?.length, 1_000_000)
  const html = await parseMail(mail('Content-Type: text/html', '', `<p>Start${'<b>x</b>'.repeat(100_000)}</p>`))
  assert.match(html.text ?? '', /^Startx/)
  assert.equal(html.problem, null)
})

test('of more addresses than anybody has, the first are read', async () => {
  const some = (name: string, count: number) => Array.from({ length: count }, (_, index) => ` ${name}${index}@example.org,`)
  const usual = await parseMail(mail('From: a@example.org', 'To:', ...some('reader', 900), 'Subject: Hi', '', 'x'))
  assert.equal(usual.to.length, 900)
  const { to, cc, subject, problem } = await parseMail(mail('To:', ...some('to', 5_000), 'Cc:', ...some('cc', 500), 'Subject: Hi', '', 'x'))
  assert.deepEqual([to.length, cc.length, subject, problem], [1_000, 0, 'Hi', null])
})

test('half a surrogate pair and zero bytes never get as far as the database', async () => {
  const parsed = await parseMail(
    mail(
      'Subject: =?utf-16le?B?ANgA?= \0',
      'Content-Type: text/plain; charset=utf-16le',
      'Content-Transfer-Encoding: base64',
      '',
      'ANhhAAAAYgA=',
    ),
  )
  const text = JSON.stringify(parsed)
  assert.ok(text.isWellFormed() && !/\\u0000|\\ud[89a-f]/i.test(text), text)
})
