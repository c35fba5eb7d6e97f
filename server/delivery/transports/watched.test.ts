import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome, Transport } from './transport.ts'
import { watched } from './watched.ts'

const delivered: Outcome = { kind: 'delivered', smtp_code: 250, response: '250 2.0.0 <ann@example.com> queued as 4XYZ' }
const silent: Outcome = {
  kind: 'deferred',
  smtp_code: null,
  enhanced_code: null,
  reason: 'The relay does not answer',
  detail: 'ECONNREFUSED',
}
const login: Outcome = { kind: 'deferred', smtp_code: 535, enhanced_code: '5.7.8', reason: 'The relay refused the login', detail: '535 no' }
const full: Outcome = { kind: 'deferred', smtp_code: 452, enhanced_code: '4.2.2', reason: 'The mailbox is full', detail: '452 full' }
const unbegun: Outcome = { kind: 'deferred', smtp_code: null, enhanced_code: null, reason: '', detail: '', isUnbegun: true }

async function said(name: string, outcomes: Outcome[]): Promise<{ warned: string[]; debugged: unknown[] }> {
  const warned: string[] = []
  const debugged: unknown[] = []
  const log = {
    warn: (...line: unknown[]) => void warned.push(String(line.at(-1))),
    debug: (about: unknown) => void debugged.push(about),
    info: () => {},
    error: () => {},
  }
  const left = [...outcomes]
  const transport: Transport = { name, send: async () => left.shift() as Outcome, verify: async () => {}, close: async () => {} }
  const way = watched(transport, log)
  for (const outcome of outcomes)
    assert.equal(await way.send({ from: '', to: 'a@example.com' }, Buffer.alloc(0), { message_id: '1@x', subject: '' }), outcome)
  return { warned, debugged }
}

test('a relay that is gone is told of once, and once when it is back', async () => {
  const gone = [silent, silent, silent, unbegun, silent, delivered, delivered, login, full]
  const { warned } = await said('smtp', gone)
  assert.deepEqual(warned, ['no mail leaves: it is tried again until it does, see OUTBOUND', 'mail leaves again'])
})

test('one that fails now and then, mailboxes that are full, what was not begun, and single servers are not told of', async () => {
  assert.deepEqual((await said('smtp', [silent, silent, delivered, silent, silent, full])).warned, [])
  assert.deepEqual((await said('smtp', [full, full, full, full])).warned, [])
  assert.deepEqual((await said('smtp', [unbegun, unbegun, unbegun])).warned, [])
  assert.deepEqual((await said('direct', [silent, silent, silent, silent])).warned, [])
})

test('each attempt is told with the other server’s words, and without an address', async () => {
  const { debugged } = await said('smtp', [delivered, full])
  assert.deepEqual(debugged, [
    { message_id: '1@x', kind: 'delivered', smtp_code: 250, answer: '250 2.0.0 <…> queued as 4XYZ' },
    { message_id: '1@x', kind: 'deferred', smtp_code: 452, answer: '452 full' },
  ])
})
