import assert from 'node:assert/strict'
import { test } from 'node:test'
import { threadMs } from '../../base/thread-time.ts'
import { findMonster, limits } from './limits.ts'

const head = 'From: a@example.com\r\nSubject: Hi\r\n'

/** Multiparts in one another. */
function nested(depth: number, { eol = '\r\n', quote = '"' } = {}): Buffer {
  const lines = [head.trimEnd().replaceAll('\r\n', eol)]
  for (let level = 0; level < depth; level++) {
    lines.push(`Content-Type: multipart/mixed;${eol}\tboundary=${quote}b${level}${quote}`, '', `--b${level}`)
  }
  lines.push('Content-Type: text/plain', '', 'the bottom')
  for (let level = depth - 1; level >= 0; level--) lines.push(`--b${level}--`)
  return Buffer.from(lines.join(eol))
}

function flat(parts: number, content = 'x'): Buffer {
  const part = `--b\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`
  return Buffer.from(`${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${part.repeat(parts)}--b--\r\n`)
}

test('real mail is no monster', () => {
  const mails = ['', '\r\n', 'no header at all', `${head}\r\nHello`, head, `${head}\r\n${'-- \r\n--b\r\n'.repeat(5_000)}`].map((text) =>
    Buffer.from(text),
  )
  for (const mail of [...mails, nested(5), nested(limits.depth), flat(900)])
    assert.equal(findMonster(mail), null, mail.toString('latin1', 0, 200))
})

test('a message about boundaries, or one with another message in it, is judged by its own parts', () => {
  const talk = 'Content-Type: multipart/mixed; boundary=b1\r\n\r\n--b1\r\n'.repeat(500)
  assert.equal(findMonster(Buffer.from(`${head}Content-Type: text/plain\r\n\r\n${talk}`)), null)
  const forwarded = Buffer.concat([
    Buffer.from(`${head}Content-Type: multipart/mixed; boundary=outer\r\n\r\n--outer\r\nContent-Type: message/rfc822\r\n\r\n`),
    nested(50),
    Buffer.from('\r\n--outer--\r\n'),
  ])
  assert.equal(findMonster(forwarded), null)
})

test('what is nested too deep, has too many parts or too much of a head is one', () => {
  assert.match(findMonster(nested(limits.depth + 1)) ?? '', /nested more than 30 deep/)
  assert.match(findMonster(nested(100, { quote: '' })) ?? '', /nested/)
  assert.match(findMonster(nested(100, { eol: '\n' })) ?? '', /nested/)
  assert.match(findMonster(flat(limits.parts + 1)) ?? '', /more than 1000 parts/)
  assert.match(findMonster(Buffer.from(`X: ${'a'.repeat(300_000)}\r\n\r\n`)) ?? '', /a head of more than 256 kB/)
  assert.match(findMonster(Buffer.from(`${'X: a\r\n'.repeat(1_001)}\r\n`)) ?? '', /more than 1000 header fields/)
  assert.match(findMonster(Buffer.from(`X: a${'\r\n b'.repeat(10_000)}\r\n\r\n`)) ?? '', /a head of more than 10000 lines/)
  assert.equal(findMonster(Buffer.from(`X: a${'\r\n b'.repeat(9_999)}\r\n\r\n`)), null)
  assert.match(findMonster(Buffer.from('no line end'.repeat(50_000))) ?? '', /a head/)
  const heads = `--b\r\nX: ${'a'.repeat(4_000)}\r\n\r\n`
  assert.match(
    findMonster(Buffer.from(`Content-Type: multipart/mixed; boundary="b"\r\n\r\n${heads.repeat(300)}`)) ?? '',
    /1024 kB of headers/,
  )
})

test('50 MB of 1,000 parts nested 100 deep are told at the top', () => {
  const large = Buffer.concat([nested(100).subarray(0, -2_000), flat(1_000, 'x'.repeat(50_000))])
  assert.ok(large.length > 50_000_000)
  assert.match(findMonster(large) ?? '', /nested/)
})

test('lines that look like delimiters and are none cost little each, and there may only be so many', () => {
  const opened = nested(limits.depth - 1).subarray(0, -200)
  const longNames = Buffer.from(opened.toString().replaceAll(/\bb(\d+)/g, `${'b'.repeat(60)}$1`))
  const lines = ['--\r\n', '--zz\r\n', `--${'b'.repeat(60)}\r\n`, `--${'b'.repeat(60)}99\r\n`, `x\n--${' '.repeat(70)}\n`]
  for (const line of lines) {
    const raw = Buffer.concat([longNames, Buffer.alloc(16_000_000, line)])
    const began = threadMs()
    assert.match(findMonster(raw) ?? '', /more than 200000 lines that begin with "--"/, line)
    // Some fifty milliseconds; looking at every line for every open part takes ten seconds and more.
    assert.ok(threadMs() - began < 2_000, line)
  }
  const dump = Buffer.from('-- a comment\r\nselect 1;\r\n'.repeat(limits.dashed_lines - 1))
  assert.equal(findMonster(Buffer.concat([flat(2), dump])), null)
})

test('delimiters are known with blanks behind them, by the innermost part of that name, and up to the last', () => {
  const parts = (line: string) => findMonster(Buffer.from(`${head}Content-Type: multipart/mixed; boundary=b\r\n\r\n${line.repeat(1_001)}`))
  for (const line of ['--b\r\n\r\n', '--b \t\r\n\r\n', `--b${' '.repeat(100)}\n\nx\n`])
    assert.match(parts(line) ?? '', /more than 1000 parts/)
  for (const line of ['--b--\r\n--b\r\n\r\n', '--bb\r\n', '---b\r\n', ' --b\r\n', '--b--x\r\n']) assert.equal(parts(line), null, line)
  const twins = 'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n'.repeat(20)
  assert.match(findMonster(Buffer.from(`${head}${twins}\r\n${'--b--\r\n'.repeat(19)}${'--b\r\n\r\n'.repeat(1_000)}`)) ?? '', /1000 parts/)
})

test('a line of blanks does not end the head', () => {
  const lines = 'X: y \r\n \r\n'.repeat(40_000)
  assert.match(findMonster(Buffer.from(`${lines}\r\nHello`)) ?? '', /a head of more than 256 kB/)
})
