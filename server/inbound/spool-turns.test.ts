import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSpools } from '../../tests/support/spool.ts'
import { until } from '../../tests/support/until.ts'
import { newId } from '../base/ids.ts'
import type { SpooledMessage } from './inbound-message.ts'

const { dns, startSpool } = await startSpools()

test('two hundred messages of somebody whose name servers are silent wait among themselves', async () => {
  const { filed, start, add, rows } = await startSpool()
  const slow = Array.from({ length: 200 }, (_, number) => `silent${number}.test`)
  for (const name of slow) Object.assign(dns.names, { [name]: { fails: 'silence' }, [`_dmarc.${name}`]: { fails: 'silence' } })
  await Promise.all(slow.map((name) => add(name, { from: `ann@${name}`, peer: '192.0.2.66' })))
  const loop = start()
  await until('all are in hand', async () => (await rows()).every(({ lease_owner }) => lease_owner !== null))
  await Promise.all(Array.from({ length: 5 }, (_, number) => add(`healthy ${number}`, { from: 'ann@healthy.test' })))
  await until('the others are filed', () => filed.flat().filter((subject) => subject.startsWith('healthy')).length === 5, {
    withinMs: 30_000,
  })
  const waiting = (await rows()).length
  assert.ok(waiting > 0, 'the slow ones have not held them up')
  await until('a slow one is filed as well', () => filed.flat().some((subject) => subject.startsWith('silent')), { withinMs: 30_000 })
  await loop.stop()
  for (const name of slow) delete dns.names[name]
})

test('what comes in while there is room is in hand at once, and is given back like all else', async () => {
  const { filed, start, add, rows, clock, spoolFor } = await startSpool()
  const loop = start()
  const into = spoolFor(loop.taker)
  const message = { peer: { address: '192.0.2.1', name: 'mx.test', is_tls: false }, envelope_from: 'ann@example.org' } as SpooledMessage
  await until('the spool was looked through', () => loop.taker.claim([message]))
  await Promise.all(Array.from({ length: 30 }, (_, number) => add(`straight ${number}`, { into })))
  await until('all are filed', () => new Set(filed.flat()).size === 30)
  assert.deepEqual(await rows(), [])

  await until('the spool was looked through', () => loop.taker.claim([message]))
  await add('slow', { from: 'ann@held.test', into })
  assert.deepEqual(
    (await rows()).map(({ attempts, lease_owner }) => [attempts, lease_owner !== null]),
    [[1, true]],
  )
  await loop.stop()
  assert.equal(loop.taker.claim([message]), null)
  const [row] = await rows()
  assert.deepEqual([row?.attempts, row?.lease_owner], [0, null])
  assert.ok((row?.next_attempt_at as Date) <= clock.now())
})

test('a suspect gets its turn while others keep coming in', async () => {
  const { database, filed, start, add, spoolFor } = await startSpool()
  const loop = start()
  const into = spoolFor(loop.taker)
  const isFiled = () => filed.flat().includes('suspect')
  const stream = Promise.all(
    Array.from({ length: 4 }, async (_, lane) => {
      for (let number = 0; !isFiled() && number < 5_000; number++) await add(`${lane} ${number}`, { into })
    }),
  )
  await until('some are filed', () => filed.flat().length > 20)
  await database.run`
    insert into inbound_spool (id, received_at, peer, envelope_from, recipients, raw, attempts, next_attempt_at)
    values (${newId()}, now(), '{"address": "192.0.2.9", "name": "mx.test", "is_tls": false}', 'eve@example.org', '{bob@posthaste.test}',
      ${Buffer.from('From: eve@example.org\r\nSubject: suspect\r\n\r\nx')}::bytea, 2, to_timestamp(0))`
  await until('it is filed', isFiled, { withinMs: 30_000 })
  await stream
})
