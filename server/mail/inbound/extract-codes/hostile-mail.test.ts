import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extractData, type MailToRead } from './extract-data.ts'
import { readFixtures } from './fixtures/read-fixtures.ts'

const megabyte = 1_000_000
const filled = (shape: string) => shape.repeat(Math.ceil(megabyte / shape.length)).slice(0, megabyte)

const texts = [
  ...['a', '1', '1 ', '1\n', '12-', '123 456 ', 'A1B2 ', 'K7P Q2M\n', 'WORD ', 'G-', '1.', '1,', '-', '*', '•', '.', ' ', '\n', '\n \n'],
  ...['code ', 'code: ', 'code 1234 ', 'verification code 12345678 ', 'order number ', 'is is ', 'verify sign in reset password '],
  ...['x@', 'a@b.c ', 'https://', 'https://a.example/c?token=abc123abc123 ', 'www.', '[', '(', '：', `${'a'.repeat(40)} `],
  ...['验证码', '验证码1234', '認証コード ', 'é', 'e\u0301', '\u200b', '\u0130', '１２３４', 'ｶﾞ', '\ud800', '\ufdfa', '\u{1d7ce}'],
]
const markups = [
  ...['<', '<a ', '<a href="', "<a '", "<a href='", '<img alt="', '<b ', '</b', '</div>', '"', '<![CDATA[', '<?', '<!--', '<!-- -->'],
  ...['<style>', '<STYLE></STYLE>', '<head>', '&', '&amp;', '&#49;', '<td>1</td>', '<b>1234</b>', '<div style="font-size:30px">1'],
  ...['<a href=x ', '<a href="https://x.example/verify?token=abc123abc123">Verify</a>', '<p>code</p><p>1234</p>', '<h1>Verify</h1>'],
]

/** Processor time, not the clock's: a mail of a megabyte may cost no more than a few ordinary ones. */
function millisecondsOf(mail: MailToRead): number {
  const before = process.cpuUsage()
  extractData(mail)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

test('a megabyte of any nasty shape is read in linear time', () => {
  const from = { name: 'a', address: 'a@b.example' }
  for (const shape of texts) {
    const text = filled(shape)
    assert.ok(millisecondsOf({ subject: 'Verify your email', text, html: null, from }) < 1000, `text ${JSON.stringify(shape)}`)
    assert.ok(
      millisecondsOf({ subject: text, text, html: text, from: { name: text, address: text } }) < 2000,
      `all ${JSON.stringify(shape)}`,
    )
  }
  for (const shape of markups) {
    const html = filled(shape)
    assert.ok(millisecondsOf({ subject: 'Verify your email', text: null, html, from }) < 1000, `html ${JSON.stringify(shape)}`)
  }
})

/** A small generator of the same numbers for the same seed (mulberry32). */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

test('20,000 mutated mails are read without an error or an odd answer', () => {
  const seed = 20_251_104
  const next = numbersFrom(seed)
  const mails = [...readFixtures('known'), ...readFixtures('held-out')].map(({ mail }) => mail)
  const scraps = [
    ...texts,
    ...markups,
    ' 482913 ',
    'code: ',
    '&#x110000;',
    '\0',
    '\ufffd',
    '\u202e',
    '😀',
    '"',
    '\r',
    'https://a.example/verify/ab12cd34',
  ]
  const pick = <T>(from: T[]): T => from[next(from.length)] as T
  const mutate = (text: string | null): string | null => {
    if (text === null) return null
    let mutated = text
    for (let round = next(6); round >= 0; round--) {
      const [at, length] = [next(mutated.length + 1), next(40)]
      const middle = pick([
        '',
        pick(scraps),
        mutated.slice(at, at + length).repeat(next(4)),
        String.fromCharCode(next(0x10000)),
        (pick(mails).text ?? '').slice(next(200), 300),
      ])
      mutated = mutated.slice(0, at) + middle + mutated.slice(at + length)
    }
    return mutated
  }
  for (let count = 0; count < 20_000; count++) {
    const original = pick(mails)
    const mail = { subject: mutate(original.subject), text: mutate(original.text), html: mutate(original.html), from: original.from }
    const found = extractData(mail)
    const told = `seed ${seed}, mail ${count}: ${JSON.stringify(mail).slice(0, 500)} → ${JSON.stringify(found)}`
    if (found === null) continue
    assert.ok(found.code !== undefined || found.link !== undefined, told)
    assert.ok(found.code === undefined || /^[A-Za-z0-9][A-Za-z0-9-]{2,18}[A-Za-z0-9]$/.test(found.code), told)
    assert.ok(found.link === undefined || /^https?:\/\/\S{1,1992}$/i.test(found.link), told)
    assert.ok(['sign_in', 'verification', 'password_reset', 'other'].includes(found.kind), told)
  }
})
