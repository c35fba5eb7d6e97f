import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
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
  ])
    assert.equal(asksToStop({ subject: null, text }), false, text.slice(0, 30))
})
