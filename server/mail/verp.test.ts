import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDeliveryToken, parseDeliveryToken } from '../base/delivery-token.ts'
import { newId } from '../base/ids.ts'
import { createSecrets } from '../base/secrets.ts'
import { parseAddress } from './address.ts'
import { findVerp, formatUnsubscribeAddress, formatVerp, parseUnsubscribeAddress, parseVerp } from './verp.ts'

const secrets = createSecrets('a key for tests, long enough to be taken')
const id = newId<'eml'>()
const token = formatDeliveryToken(secrets, 'return_path', { kind: 'delivery', project_id: newId<'prj'>(), id })
const host = 'rp.example.com'

test('both addresses are plain ones, within the 64 octets of a local part', () => {
  for (const address of [formatVerp(token, host), formatUnsubscribeAddress(token, host)]) {
    const parsed = parseAddress(address)
    assert.ok(parsed.ok, address)
    assert.ok(parsed.value.local.length <= 64, `${parsed.value.local.length}`)
    assert.equal(parsed.value.key, address)
  }
  assert.equal(formatUnsubscribeAddress(token, host).indexOf('@'), 64)
})

test('the token comes back, whatever a server made of the case', () => {
  for (const address of [
    formatVerp(token, host),
    formatVerp(token, host).toUpperCase(),
    `B+${token}@${host}`,
    `<${formatVerp(token, host)}>`,
    ` ${formatVerp(token, host)}\r\n`,
    `"b+${token}"@${host}`,
  ]) {
    assert.equal(parseVerp(address), token, address)
    assert.equal(parseDeliveryToken(secrets, 'return_path', parseVerp(address) as string)?.id, id)
  }
  assert.equal(parseUnsubscribeAddress(formatUnsubscribeAddress(token, host).toUpperCase()), token)
})

test('what is no such address gives null', () => {
  for (const address of [
    '',
    '<>',
    'b@rp.example.com',
    'b+@rp.example.com',
    `b+${token}`,
    `b+${token}@`,
    `b+${token.slice(1)}@${host}`,
    `b+${token}0@${host}`,
    `bb+${token}@${host}`,
    `b-${token}@${host}`,
    `b+${token}@${host} b+x@y`,
    `b+${'i'.repeat(52)}@${host}`,
    formatUnsubscribeAddress(token, host),
    `b+${'0'.repeat(100_000)}@${host}`,
  ])
    assert.equal(parseVerp(address), null, address.slice(0, 100))
  assert.equal(parseUnsubscribeAddress(formatVerp(token, host)), null)
})

test('a return path that forwarders have wrapped is still found', () => {
  for (const text of [
    formatVerp(token, host),
    `SRS0=Kx3s=ZX=rp.example.com=b+${token}@forwarder.example`,
    `SRS1=Hx=other.example==Kx=ZX=rp.example.com=B+${token.toUpperCase()}@forwarder.example`,
    `prvs=12345abcde=b+${token}@${host}`,
    `Return-Path: <b+${token}@${host}>`,
  ])
    assert.equal(findVerp(text), token, text)
  for (const text of ['', 'b+x@y', `ab+${token}@${host}`, `b+${token}0@${host}`, `unsubscribe+${token}@${host}`])
    assert.equal(findVerp(text), null, text)
})
