import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { threadMs } from '../../base/thread-time.ts'
import { createMailReader, ReaderBusy, UnreadableMail } from './mail-reader.ts'
import { readAttachments } from './parse-mail.ts'
import { sanitiseHtml } from './sanitise-html.ts'

const reader = createMailReader()
const hasty = createMailReader({ limitMs: 500 })
after(() => Promise.all([reader.stop(), hasty.stop()]))

const fixture = (name: string) => readFileSync(join(import.meta.dirname, `fixtures/${name}.eml`))

/** Padding after each letter: seconds for some megabytes. */
const dear = Buffer.concat([
  Buffer.from('From: a@example.com\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n'),
  Buffer.alloc(32_000_000, 'YQ=='),
])

test('attachments and pages are what they would be here', async () => {
  for (const name of ['attachment', 'forwarded-as-attachment', 'inline-image', 'winmail', 'plain', 'too-deep', 'empty']) {
    const raw = fixture(name)
    const here = await readAttachments(raw)
    assert.deepEqual(await reader.attachments('one', raw), here, name)
    for (let number = 0; number <= here.length + 1; number++)
      assert.deepEqual(await reader.attachment('one', raw, number), here[number - 1] ?? null, `${name} ${number}`)
  }
  const html = '<p onclick="x()">Hi <img src="cid:a"><img src="cid:b"><img src="https://a.test/"></p>'
  const links = new Map([['a', '/parts/1']])
  for (const remoteImages of ['show', 'block'] as const)
    assert.equal(
      await reader.html('one', { html, links, remoteImages }),
      sanitiseHtml(html, { linkOfContentId: (id) => links.get(id) ?? null, remoteImages }),
    )
})

test('a message that takes seconds takes them from nobody here', async () => {
  await reader.attachments('one', fixture('plain'))
  const began = threadMs()
  // On a slow machine it is refused.
  const attachment = await reader.attachment('one', dear, 1).catch(() => null)
  const page = await reader.html('one', { html: '<'.repeat(2_000_000), links: new Map(), remoteImages: 'block' }).catch(() => null)
  const spent = threadMs() - began
  assert.ok(spent < 1_000, `${spent} ms`)
  if (attachment) assert.equal(attachment.bytes.length, 8_000_000)
  if (page !== null) assert.match(page, /^(?:&lt;)*$/)
})

test('a message that takes too long is refused, and those behind it are read', async () => {
  await hasty.attachments('warm', fixture('plain')).catch(() => {})
  const [refused, next] = await Promise.allSettled([
    hasty.attachments('one', dear),
    hasty.html('two', { html: 'x', links: new Map(), remoteImages: 'block' }),
  ])
  assert.ok(refused.status === 'rejected' && refused.reason instanceof UnreadableMail)
  assert.deepEqual(next, { status: 'fulfilled', value: 'x' })
})

test('one project cannot have more than fifty waiting, and a stop leaves nobody waiting', async () => {
  const stopped = createMailReader()
  const asked = Array.from({ length: 51 }, () => stopped.attachments('one', fixture('plain')).catch((error: Error) => error))
  assert.ok((await asked[50]) instanceof ReaderBusy)
  await stopped.stop()
  for (const answer of await Promise.all(asked)) assert.ok(answer instanceof ReaderBusy || Array.isArray(answer))
})
