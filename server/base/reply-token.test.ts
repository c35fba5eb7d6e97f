import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatReplyAddress, parseReplyAddress } from '../mail/verp.ts'
import { newId } from './ids.ts'
import { formatReplyToken, parseReplyToken } from './reply-token.ts'
import { createSecrets } from './secrets.ts'

const secrets = createSecrets('a key for tests, long enough to be taken')
const id = newId()
const token = formatReplyToken(secrets, id)

test('the address fits into a local part, and leads back in whatever case', () => {
  const address = formatReplyAddress(token, 'posthaste.test')
  assert.ok(address.indexOf('@') <= 64)
  for (const written of [address, address.toUpperCase(), `<${address}>`])
    assert.equal(parseReplyToken(secrets, parseReplyAddress(written) ?? ''), id, written)
})

test('what was not made here, or not for this, is none', () => {
  const last = token.endsWith('0') ? '1' : '0'
  for (const other of ['', token.slice(1), `${token}0`, token.slice(0, -1) + last, `f${token.slice(1)}`, 'z'.repeat(52)])
    assert.equal(parseReplyToken(secrets, other), null, other)
  assert.equal(parseReplyToken(createSecrets('another key, long enough to be taken as well'), token), null)
  for (const address of ['reply@posthaste.test', 'reply+@posthaste.test', `b+${token}@posthaste.test`, `reply+${token}`, ''])
    assert.equal(parseReplyAddress(address), null, address)
})
