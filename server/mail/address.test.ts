import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressKey, type MailAddress, parseAddress } from './address.ts'

function accepted(text: string): MailAddress {
  const parsed = parseAddress(text)
  assert.ok(parsed.ok, `${JSON.stringify(text)} was refused: ${parsed.ok || parsed.problem}`)
  return parsed.value
}

const longLocal = 'l'.repeat(64)
const longLabel = 'd'.repeat(63)
/** 189 bytes, so that 64 + @ + this is 254. */
const longDomain = `${longLabel}.${longLabel}.${'d'.repeat(61)}`

/** Written, shown, compared by. */
const good: [text: string, address: string, key: string][] = [
  ['ann@example.com', 'ann@example.com', 'ann@example.com'],
  ['Ann.Lee@Example.COM', 'Ann.Lee@example.com', 'ann.lee@example.com'],
  ['  ann@example.com\t', 'ann@example.com', 'ann@example.com'],
  ['\u00a0ann@example.com\ufeff', 'ann@example.com', 'ann@example.com'],
  ['ann+news@example.com', 'ann+news@example.com', 'ann+news@example.com'],
  ["o'hara@example.ie", "o'hara@example.ie", "o'hara@example.ie"],
  ["!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"],
  ['a@b.co', 'a@b.co', 'a@b.co'],
  ['1@2.example', '1@2.example', '1@2.example'],
  ['-@example.com', '-@example.com', '-@example.com'],
  ['ann@a-b--c.example', 'ann@a-b--c.example', 'ann@a-b--c.example'],
  ['ann@sub.sub.sub.example.co.uk', 'ann@sub.sub.sub.example.co.uk', 'ann@sub.sub.sub.example.co.uk'],
  ['ann@3com.example', 'ann@3com.example', 'ann@3com.example'],
  ['ann@1.2.3.4.example', 'ann@1.2.3.4.example', 'ann@1.2.3.4.example'],
  ['ann@example.0x7g', 'ann@example.0x7g', 'ann@example.0x7g'],
  ['root@localhost', 'root@localhost', 'root@localhost'],
  ['Root@LocalHost', 'Root@localhost', 'root@localhost'],
  [`${longLocal}@example.com`, `${longLocal}@example.com`, `${longLocal}@example.com`],
  [`ann@${longLabel}.com`, `ann@${longLabel}.com`, `ann@${longLabel}.com`],
  [`${longLocal}@${longDomain}`, `${longLocal}@${longDomain}`, `${longLocal}@${longDomain}`],
  // IDN domains: shown as given, compared in A-labels
  ['ann@bücher.example', 'ann@bücher.example', 'ann@xn--bcher-kva.example'],
  ['ann@BÜCHER.example', 'ann@bücher.example', 'ann@xn--bcher-kva.example'],
  ['ann@bu\u0308cher.example', 'ann@bücher.example', 'ann@xn--bcher-kva.example'],
  ['ann@xn--bcher-kva.example', 'ann@xn--bcher-kva.example', 'ann@xn--bcher-kva.example'],
  ['ann@XN--BCHER-KVA.example', 'ann@xn--bcher-kva.example', 'ann@xn--bcher-kva.example'],
  ['ann@例え.テスト', 'ann@例え.テスト', 'ann@xn--r8jz45g.xn--zckzah'],
  ['ann@straße.example', 'ann@straße.example', 'ann@xn--strae-oqa.example'],
  ['ann@ｅｘａｍｐｌｅ.com', 'ann@example.com', 'ann@example.com'],
  ['ann@example。com', 'ann@example.com', 'ann@example.com'],
  ['ann@exam\u00adple.com', 'ann@example.com', 'ann@example.com'],
  // Unicode before the @ (RFC 6531)
  ['josé@example.com', 'josé@example.com', 'josé@example.com'],
  ['Jose\u0301@example.com', 'José@example.com', 'josé@example.com'],
  ['用户@例え.テスト', '用户@例え.テスト', '用户@xn--r8jz45g.xn--zckzah'],
  ['ПОЧТА@example.com', 'ПОЧТА@example.com', 'почта@example.com'],
  ['🦊@example.com', '🦊@example.com', '🦊@example.com'],
  ['\u212aen@example.com', 'Ken@example.com', 'ken@example.com'],
  ['ﬁn@example.com', 'ﬁn@example.com', 'ﬁn@example.com'],
  ['J\u030c@example.com', 'J\u030c@example.com', '\u01f0@example.com'],
  [`${'é'.repeat(32)}@example.com`, `${'é'.repeat(32)}@example.com`, `${'é'.repeat(32)}@example.com`],
]

for (const [text, address, key] of good) {
  test(`${JSON.stringify(text.slice(0, 60))} is an address`, () => {
    const value = accepted(text)
    assert.equal(value.address, address)
    assert.equal(value.key, key)
    assert.equal(value.domain, key.slice(key.lastIndexOf('@') + 1))
    assert.equal(value.local, address.slice(0, address.lastIndexOf('@')))
    assert.equal(accepted(value.address).key, key, 'the shown form compares as the written one')
    assert.equal(accepted(key).key, key, 'the key is its own key')
  })
}

const bad: [text: string, problem: RegExp][] = [
  ['', /is empty/],
  ['   ', /is empty/],
  ['ann', /has no @/],
  ['ann.example.com', /has no @/],
  ['ann＠example.com', /has no @/],
  ['@', /nothing before the @/],
  ['@example.com', /nothing before the @/],
  ['ann@', /nothing after the @/],
  ['ann@lee@example.com', /more than one @/],
  ['ann lee@example.com', /has a space/],
  ['ann@exam ple.com', /has a space/],
  ['ann\u2003lee@example.com', /has a space/],
  ['ann@example.com bob@example.com', /has a space/],
  ['ann@example.com\r\nBcc: bob@example.com', /line break/],
  ['ann\n@example.com', /line break/],
  ['ann\0@example.com', /control character/],
  ['ann\u0085@example.com', /control character/],
  ['ann\u200b@example.com', /invisible/],
  ['\u202eann@example.com', /invisible/],
  ['ann\ud800@example.com', /invisible/],
  ['Ann Lee <ann@example.com>', /angle brackets/],
  ['<ann@example.com>', /angle brackets/],
  ['"ann lee"@example.com', /quoted/],
  ['"ann@lee"@example.com', /quoted/],
  ['mailto:ann@example.com', /has a : before/],
  ['ann,bob@example.com', /has a , before/],
  ['ann;bob@example.com', /has a ; before/],
  ['ann\u037ebob@example.com', /has a ; before/],
  ['ann(work)@example.com', /has a \( before/],
  ['an\\n@example.com', /has a \\ before/],
  ['an"n@example.com', /has a " before/],
  ['.ann@example.com', /begins with a dot/],
  ['ann.@example.com', /dot right before/],
  ['ann..lee@example.com', /two dots in a row before/],
  [`${longLocal}l@example.com`, /more than 64 bytes/],
  [`${'é'.repeat(33)}@example.com`, /more than 64 bytes/],
  ['ann@example', /without a dot/],
  ['ann@localhost2', /without a dot/],
  ['ann@.example.com', /dot right after/],
  ['ann@example.com.', /ends with a dot/],
  ['ann@localhost.', /ends with a dot/],
  ['ann@example..com', /two dots in a row after/],
  ['ann@a.\u00ad.com', /two dots in a row after|cannot exist/],
  ['ann@-example.com', /hyphen/],
  ['ann@example-.com', /hyphen/],
  ['ann@exam_ple.com', /cannot exist/],
  ['ann@exam%70le.com', /cannot exist/],
  ['ann@example.com/path', /cannot exist/],
  ['ann@example.com:25', /cannot exist/],
  ['ann@example.com#x', /cannot exist/],
  ['ann@example.com,bob', /cannot exist/],
  ['ann@exam\uff05ple.com', /cannot exist/],
  ['ann@xn--a.com', /cannot exist/],
  ['ann@xn--.com', /cannot exist/],
  ['ann@xn--99999999.com', /cannot exist/],
  ['ann@xn--a-ecp.ru', /cannot exist/],
  ['ann@bücher.xn--a.com', /cannot exist/],
  ['ann@exam\ud800ple.com', /cannot exist/],
  ['ann@[1.2.3.4]', /IP address/],
  ['ann@[IPv6:::1]', /IP address/],
  ['ann@127.0.0.1', /IP address/],
  ['ann@0x7f.1', /IP address/],
  ['ann@2130706433', /IP address/],
  ['ann@１２７.0.0.1', /IP address/],
  ['ann@example.123', /IP address/],
  [`ann@${longLabel}d.com`, /longer than 63 bytes/],
  [`ann@${'ü'.repeat(60)}.com`, /longer than 63 bytes/],
  [`a@${`${longLabel}.`.repeat(4)}com`, /longer than 253 bytes/],
  [`${longLocal}@d${longDomain}`, /longer than (?:63|254) bytes/],
  [`${longLocal}@${longLabel}.${longLabel}.${'d'.repeat(62)}`, /longer than 254 bytes/],
]

for (const [text, problem] of bad) {
  test(`${JSON.stringify(text.slice(0, 60))} is not an address`, () => {
    const parsed = parseAddress(text)
    assert.ok(!parsed.ok, `accepted as ${parsed.ok && parsed.value.address}`)
    assert.match(parsed.problem, problem)
  })
}

test('a hostile text is refused in no time', () => {
  const started = performance.now()
  for (const text of ['a'.repeat(1e6), `${'a.'.repeat(5e5)}@`, `a@${'a-'.repeat(5e5)}`, `a@${'ü'.repeat(1e5)}.com`, '@'.repeat(1e6)]) {
    assert.equal(parseAddress(text).ok, false)
  }
  assert.ok(performance.now() - started < 2000)
})

test('what an address is compared by, of whatever stands in a mail', () => {
  const keys = ['Ann@Example.COM', 'ann@bücher.example', 'not an address', '', null, undefined].map(addressKey)
  assert.deepEqual(keys, ['ann@example.com', 'ann@xn--bcher-kva.example', null, null, null, null])
})
