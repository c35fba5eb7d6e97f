import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeliveryKind, formatDeliveryToken, parseDeliveryToken, projectTail } from './delivery-token.ts'
import { newId } from './ids.ts'
import { createSecrets } from './secrets.ts'

const secrets = createSecrets('a key for tests, long enough to be taken')
const about = {
  kind: 'delivery' as DeliveryKind,
  project_id: '01934f3a-7c00-7abc-8def-0123456789ab',
  id: '01934f3b-1111-7222-b333-444455556666',
}

test('a token names what it was made for, and is always 52 letters of base32', () => {
  for (const kind of ['delivery', 'email'] as const) {
    for (let round = 0; round < 500; round++) {
      const made = { kind, project_id: newId<'prj'>(), id: newId<'eml'>() }
      const token = formatDeliveryToken(secrets, made)
      assert.match(token, /^[0-9a-hjkmnp-tv-z]{52}$/)
      assert.deepEqual(parseDeliveryToken(secrets, token), { kind, project_tail: projectTail(made.project_id), id: made.id })
    }
  }
})

test('the form stays: links already sent must go on to work', () => {
  assert.equal(projectTail(about.project_id).toString('hex'), '8def0123456789ab')
  // 1, then the project's last 8 bytes: 13 groups of 20 bits, of which the first are 18def (33ff) and 01234 (04hm).
  assert.equal(formatDeliveryToken(secrets, about), '33ff04hmasw9nc0s6ksv248q48nk6d248nancskbv8nrqagmyj6b')
})

test('a mail server that changes the case of the local part breaks nothing', () => {
  const token = formatDeliveryToken(secrets, about)
  assert.deepEqual(parseDeliveryToken(secrets, token.toUpperCase()), parseDeliveryToken(secrets, token))
  assert.equal(parseDeliveryToken(secrets, token.toUpperCase())?.id, about.id)
})

test('a token with any one letter changed, cut or added is refused', () => {
  const token = formatDeliveryToken(secrets, about)
  for (let index = 0; index < token.length; index++) {
    for (const letter of ['0', '1', 'a', 'z', 'i', '-', 'é'].filter((one) => one !== token[index]))
      assert.equal(parseDeliveryToken(secrets, token.slice(0, index) + letter + token.slice(index + 1)), null, `${index} ${letter}`)
    assert.equal(parseDeliveryToken(secrets, token.slice(0, index)), null, `cut at ${index}`)
  }
  for (const more of ['0', '=', '\n', ' ', '.', '🦊']) assert.equal(parseDeliveryToken(secrets, token + more), null, more)
})

test('rubbish, the wrong kind and another key are refused', () => {
  for (const text of ['', 'b', '0'.repeat(52), 'z'.repeat(52), '3'.repeat(52), 'z'.repeat(100_000), '\0', '🦊'.repeat(26)])
    assert.equal(parseDeliveryToken(secrets, text), null)
  const token = formatDeliveryToken(secrets, about)
  assert.notEqual(formatDeliveryToken(secrets, { ...about, kind: 'email' }).slice(-12), token.slice(-12), 'the kind is signed as well')
  assert.equal(parseDeliveryToken(createSecrets('another key for tests, just as long as it'), token), null)
})
