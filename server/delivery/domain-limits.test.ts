import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitsOfHost, patienceOf, restMsAfter } from './domain-limits.ts'

test('a provider is known by the end of its MX names, whoever’s domain it serves', () => {
  const google = { max_connections: 10, max_messages: 100, rate: 20 }
  for (const host of ['gmail-smtp-in.l.google.com', 'ASPMX.L.Google.COM', 'alt1.aspmx.l.google.com.', 'aspmx2.googlemail.com'])
    assert.deepEqual(limitsOfHost(host), google, host)
  assert.equal(limitsOfHost('example-org.mail.protection.outlook.com').rate, 20)
  assert.equal(limitsOfHost('mta7.am0.yahoodns.net').max_messages, 20)
})

test('others have no limits of their own, and a name that only looks like one is another’s', () => {
  for (const host of ['mx.example.org', 'notgoogle.com', 'google.com.example.org', 'web.de.example.org', ''])
    assert.deepEqual(limitsOfHost(host), {}, host)
})

test('421 and 4.7.x ask for less mail; other temporary answers say nothing of that, and every final one is fine', () => {
  const deferred = (smtp_code: number | null, enhanced_code: string | null) =>
    patienceOf({ kind: 'deferred', smtp_code, enhanced_code, reason: '', detail: '' })
  assert.equal(deferred(421, null), 'slow_down')
  assert.equal(deferred(421, '4.3.2'), 'slow_down')
  assert.equal(deferred(450, '4.7.28'), 'slow_down')
  assert.equal(deferred(451, '4.7.500'), 'slow_down')
  for (const [code, enhanced] of [
    [450, '4.2.0'],
    [452, '4.2.2'],
    [451, null],
    [null, null],
  ] as const)
    assert.equal(deferred(code, enhanced), 'unheard', `${code} ${enhanced}`)
  assert.equal(patienceOf({ kind: 'delivered', smtp_code: 250, response: 'ok' }), 'fine')
  assert.equal(
    patienceOf({ kind: 'bounced', smtp_code: 550, enhanced_code: '5.7.1', bounce_class: 'policy', reason: '', detail: '' }),
    'fine',
  )
})

test('rests grow, and end', () => {
  const rests = Array.from({ length: 10 }, (_, times) => restMsAfter(times + 1))
  assert.deepEqual(
    rests,
    rests.toSorted((one, other) => one - other),
  )
  assert.deepEqual([rests[0], rests.at(-1)], [30_000, 1_800_000])
})
