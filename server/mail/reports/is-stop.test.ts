import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { threadMs } from '../../base/thread-time.ts'
import { asksToStop } from './is-stop.ts'

const cases: { requests: string[]; other_mail: string[] } = JSON.parse(readFileSync(join(import.meta.dirname, 'stop-cases.json'), 'utf8'))
const { requests, other_mail: otherMail } = cases

test('requests to stop are understood', () => {
  for (const text of requests) assert.equal(asksToStop({ subject: 'Re: Weekly', text }), true, text)
})

test('mail that merely has such words in it is left alone', () => {
  for (const text of otherMail) assert.equal(asksToStop({ subject: 'Re: Weekly', text }), false, text)
})

test('the tables are large enough to mean something', (t) => {
  assert.ok(requests.length >= 80 && otherMail.length >= 80)
  const yes = (texts: string[]) => texts.filter((text) => asksToStop({ subject: null, text })).length
  const [right, wrong] = [yes(requests), yes(otherMail)]
  t.diagnostic(`precision ${right}/${right + wrong}, recall ${right}/${requests.length}, ${otherMail.length} other mails`)
})

test('an empty mail speaks by its subject, unless that is the subject of the letter it answers', () => {
  for (const subject of ['unsubscribe', 'STOP', 'Abmelden', '退订', 'Please remove me'])
    assert.equal(asksToStop({ subject, text: '\n' }), true, subject)
  for (const subject of ['', 'Re: unsubscribe', 'Weekly', 'How to unsubscribe'])
    assert.equal(asksToStop({ subject, text: '' }), false, subject)
  assert.equal(asksToStop({ subject: null, text: '' }), false)
  assert.equal(asksToStop({ subject: 'unsubscribe', text: 'I have a question about page 3' }), false)
})

test('long and hostile text takes no long time and is no request', () => {
  for (const text of [
    'stop '.repeat(100_000),
    'can you please '.repeat(15),
    'please '.repeat(34),
    `${'>'.repeat(100_000)}`,
    'a@b '.repeat(50),
    '\n'.repeat(300_000),
    'On 1 wrote:\n'.repeat(20_000),
    `${"'".repeat(238)}x`,
    `stop ${'a@'.repeat(115)}`,
    '\ufdfa'.repeat(240),
    '+ - '.repeat(59),
  ])
    inNoTime(text, () => assert.equal(asksToStop({ subject: null, text }), false, text.slice(0, 30)))
  for (const letters of ["'", ' ', '-', '+ ', 'stop ', 'stop, ', 'please ', 'a@', '\ufdfa'])
    inNoTime(letters, () =>
      assert.equal(asksToStop({ subject: `unsubscribe ${letters.repeat(128_000 / letters.length)} x`, text: '' }), false),
    )
})

/** Of a processor, whatever else the machine is busy with. */
function inNoTime(name: string, run: () => void): void {
  const began = threadMs()
  run()
  const spent = threadMs() - began
  assert.ok(spent < 500, `${name.slice(0, 30)}: ${spent} ms`)
}

test('a subject says what it says up to the length of a request', () => {
  const courtesy = (letters: number) => `${'please '.repeat(letters / 7)}stop`
  assert.equal(asksToStop({ subject: courtesy(210), text: '' }), true)
  assert.equal(asksToStop({ subject: courtesy(280), text: '' }), false)
})
