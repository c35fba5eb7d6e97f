import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isWithin, parseDomain } from './domain-name.ts'

describe('domains', () => {
  const good: Record<string, string> = {
    'example.com': 'example.com',
    ' News.Example.COM. ': 'news.example.com',
    'bücher.example': 'xn--bcher-kva.example',
    'xn--bcher-kva.example': 'xn--bcher-kva.example',
    'example.co.uk': 'example.co.uk',
    'someone.github.io': 'someone.github.io',
  }
  for (const [written, domain] of Object.entries(good))
    it(`${written} is one`, () => assert.deepEqual(parseDomain(written), { ok: true, domain }))

  const bad: Record<string, RegExp> = {
    '': /^is empty$/,
    example: /^has no dot$/,
    localhost: /^has no dot$/,
    com: /^has no dot$/,
    'co.uk': /shared by many owners/,
    'github.io': /shared by many owners/,
    'https://example.com/': /web address/,
    'example.com/a': /web address/,
    'ann@example.com': /has an @/,
    '192.0.2.1': /IP address/,
    '2001:db8::1': /IP address/,
    'example.com:25': /IP address/,
    'a..example.com': /^has two dots in a row$/,
    '.example.com': /^begins with a dot$/,
    '-a.example.com': /^has a part that begins or ends with a hyphen$/,
    'a_b.example.com': /^cannot exist: it may have letters/,
    [`${'a'.repeat(64)}.com`]: /^has a part longer than 63 bytes$/,
    [`${'abcdefgh.'.repeat(28)}example`]: /longer than 25/,
    'exa mple.com': /^has a space in it$/,
    'xn--a.example': /^cannot exist/,
  }
  for (const [written, problem] of Object.entries(bad))
    it(`${JSON.stringify(written.slice(0, 30))} is none`, () => {
      const parsed = parseDomain(written)
      assert.match(parsed.ok ? 'fine' : parsed.problem, problem)
    })

  it('know what lies below them', () => {
    assert.deepEqual(
      ['a.test', 'b.a.test', 'ba.test', 'test'].map((name) => isWithin(name, 'a.test')),
      [true, true, false, false],
    )
  })
})
