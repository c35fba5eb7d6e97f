import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type DeliveryKind,
  type DeliveryPurpose,
  formatDeliveryToken,
  formatDeliveryTokens,
  parseDeliveryToken,
  projectTail,
} from './delivery-token.ts'
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
      const token = formatDeliveryToken(secrets, 'open', made)
      assert.match(token, /^[0-9a-hjkmnp-tv-z]{52}$/)
      assert.deepEqual(parseDeliveryToken(secrets, 'open', token), { kind, project_tail: projectTail(made.project_id), id: made.id })
    }
  }
})

test('the form stays: links already sent must go on to work', () => {
  assert.equal(projectTail(about.project_id).toString('hex'), '8def0123456789ab')
  // 1, then the project's last 8 bytes: 13 groups of 20 bits, of which the first are 18def (33ff) and 01234 (04hm).
  assert.deepEqual(formatDeliveryTokens(secrets, about), {
    click: '33ff04hmasw9nc0s6ksv248q48nk6d248nancskbv8nrqagmyj6b',
    open: '33ff04hmasw9nc0s6ksv248q48nk6d248nancsk50bx78tk7v441',
    unsubscribe: '33ff04hmasw9nc0s6ksv248q48nk6d248nancsk6vh8qhqaspfd9',
    return_path: '33ff04hmasw9nc0s6ksv248q48nk6d248nancsk0gdeypeym8m6c',
  })
})

test('a mail server that changes the case of the local part breaks nothing', () => {
  const token = formatDeliveryToken(secrets, 'open', about)
  assert.deepEqual(parseDeliveryToken(secrets, 'open', token.toUpperCase()), parseDeliveryToken(secrets, 'open', token))
  assert.equal(parseDeliveryToken(secrets, 'open', token.toUpperCase())?.id, about.id)
})

test('a token with any one letter changed, cut or added is refused', () => {
  const token = formatDeliveryToken(secrets, 'open', about)
  for (let index = 0; index < token.length; index++) {
    for (const letter of ['0', '1', 'a', 'z', 'i', '-', 'é'].filter((one) => one !== token[index]))
      assert.equal(parseDeliveryToken(secrets, 'open', token.slice(0, index) + letter + token.slice(index + 1)), null, `${index} ${letter}`)
    assert.equal(parseDeliveryToken(secrets, 'open', token.slice(0, index)), null, `cut at ${index}`)
  }
  for (const more of ['0', '=', '\n', ' ', '.', '🦊']) assert.equal(parseDeliveryToken(secrets, 'open', token + more), null, more)
})

test('rubbish, the wrong kind and another key are refused', () => {
  for (const text of ['', 'b', '0'.repeat(52), 'z'.repeat(52), '3'.repeat(52), 'z'.repeat(100_000), '\0', '🦊'.repeat(26)])
    assert.equal(parseDeliveryToken(secrets, 'open', text), null)
  const token = formatDeliveryToken(secrets, 'open', about)
  assert.notEqual(
    formatDeliveryToken(secrets, 'open', { ...about, kind: 'email' }).slice(-12),
    token.slice(-12),
    'the kind is signed as well',
  )
  assert.equal(parseDeliveryToken(createSecrets('another key for tests, just as long as it'), 'open', token), null)
})

test('each purpose has a token of its own, which is good for no other', () => {
  const tokens = formatDeliveryTokens(secrets, about)
  const purposes = Object.keys(tokens) as DeliveryPurpose[]
  assert.equal(new Set(Object.values(tokens)).size, 4)
  for (const made of purposes) {
    assert.equal(tokens[made], formatDeliveryToken(secrets, made, about))
    for (const shown of purposes)
      assert.equal(parseDeliveryToken(secrets, shown, tokens[made])?.id ?? null, made === shown ? about.id : null)
  }
  assert.equal(parseDeliveryToken(secrets, ['click', 'unsubscribe'], tokens.unsubscribe)?.id, about.id)
  assert.equal(parseDeliveryToken(secrets, ['click', 'unsubscribe'], tokens.open), null)
})
