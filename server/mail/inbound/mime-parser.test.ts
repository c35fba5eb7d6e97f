import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import PostalMime, { type Email } from 'postal-mime'
import { mutateMail } from '../../../tests/support/mutate-mail.ts'
import { threadMs } from '../../base/thread-time.ts'
import { parseMime } from './mime-parser.ts'

/** All but the one that says US-ASCII of UTF-8, which is read better. */
const files = globSync(join(import.meta.dirname, '../{inbound,reports}/**/*.eml'))
  .filter((file) => !file.endsWith('wrong-charset.eml'))
  .sort()
const options = { forceRfc822Attachments: true }
const encoded = (body: string) => Buffer.from(`Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n${body}`)
const bytesIn = async (raw: Buffer) => Buffer.from((await parseMime(raw, options)).attachments[0]?.content as ArrayBuffer).toString()

test('reads every fixture as postal-mime itself does', async () => {
  assert.ok(files.length > 100)
  for (const file of files) {
    const raw = readFileSync(file)
    assert.deepEqual(await parseMime(raw, options), await PostalMime.parse(raw, options), file)
  }
})

test('reads mutated mail as postal-mime itself does', async () => {
  const corpus = files.map((file) => readFileSync(file))
  for (let seed = 1; seed <= 300; seed++) {
    const raw = mutateMail(corpus, seed).subarray(0, 30_000)
    const outcome = (parsing: Promise<Email>) => parsing.catch((error: Error) => error.message)
    assert.deepEqual(await outcome(parseMime(raw, options)), await outcome(PostalMime.parse(raw, options)), `seed ${seed}`)
  }
})

test('what says US-ASCII and is UTF-8 is read as that, in any encoding; what is neither, as ever', async () => {
  const textOf = async (charset: string, encoding: string, body: string) =>
    (
      await parseMime(
        Buffer.from(`Content-Type: text/plain; charset=${charset}\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`, 'latin1'),
        options,
      )
    ).text
  for (const charset of ['us-ascii', '"US-ASCII"', 'ascii']) {
    assert.equal(await textOf(charset, '8bit', 'Gr\xc3\xbc\xc3\x9fe'), 'Grüße\n')
    assert.equal(await textOf(charset, 'quoted-printable', 'Gr=C3=BC=C3=9Fe'), 'Grüße\n')
    assert.equal(await textOf(charset, 'base64', 'R3LDvMOfZQ=='), 'Grüße')
    assert.equal(await textOf(charset, '8bit', 'Gr\xfc\xdfe'), 'Grüße\n')
  }
  assert.equal(await textOf('iso-8859-1', '8bit', 'Gr\xc3\xbc'), 'GrÃ¼\n')
})

test('base64 is read with junk in it, and with padding after each line or letter', async () => {
  assert.equal(await bytesIn(encoded('SGVs\r\nbG8=\r\n')), 'Hello')
  assert.equal(await bytesIn(encoded('SGVsbG8=\r\nIHdvcmxk\r\n')), 'Hello world')
  assert.equal(await bytesIn(encoded('SGVsbG8=\r\nISE=\r\n====\r\nSGk')), 'Hello!!Hi')
  assert.equal(await bytesIn(encoded('S G*V!s\tbG8')), 'Hello')
  assert.equal((await bytesIn(encoded('A='.repeat(100_000)))).length, 0)
})

test('megabytes of empty lines take no longer than others', async () => {
  const began = threadMs()
  await parseMime(Buffer.from(`Subject: x\r\n\r\n${'\r\n'.repeat(1_000_000)}`), options)
  assert.ok(threadMs() - began < 1_000)
})
