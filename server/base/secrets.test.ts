import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createSecrets, loadSecretKey, secretKeyFile } from './secrets.ts'

const secrets = createSecrets('a key for tests, long enough to be taken')
const payload = Buffer.from('some forty-eight bytes that name one subscriber!')

test('a token gives back what was signed, and is short enough for a link', () => {
  const token = secrets.sign('confirm', payload)
  assert.deepEqual(secrets.verify('confirm', token), payload)
  assert.match(token, /^[\w-]{1,100}$/)
  assert.equal(secrets.sign('confirm', payload), token)
})

test('a token made for one purpose does not pass for another', () => {
  assert.equal(secrets.verify('unsubscribe', secrets.sign('confirm', payload)), null)
  assert.equal(secrets.verify('confirm', secrets.sign('unsubscribe', payload)), null)
})

test('a token with any one letter changed, cut or added is refused', () => {
  const token = secrets.sign('confirm', payload)
  for (let index = 0; index < token.length; index++) {
    for (const letter of ['A', 'B', '_', '-'].filter((one) => one !== token[index]))
      assert.equal(secrets.verify('confirm', token.slice(0, index) + letter + token.slice(index + 1)), null, `${index} ${letter}`)
    assert.equal(secrets.verify('confirm', token.slice(0, index)), null, `cut at ${index}`)
  }
  for (const more of ['A', '=', '\n', ' ', '%', '.', 'é']) assert.equal(secrets.verify('confirm', token + more), null, more)
})

test('rubbish is refused, whatever its length', () => {
  for (const text of ['', 'A', 'confirm', '.', '..', 'A'.repeat(22), 'A'.repeat(23), 'A'.repeat(24), 'A'.repeat(100_000), '\0', '🦊'])
    assert.equal(secrets.verify('confirm', text), null)
})

test('another key neither verifies our tokens nor has our fingerprint', () => {
  const other = createSecrets('another key for tests, just as long as it')
  assert.equal(other.verify('confirm', secrets.sign('confirm', payload)), null)
  assert.notEqual(other.fingerprint, secrets.fingerprint)
  assert.equal(createSecrets('a key for tests, long enough to be taken').fingerprint, secrets.fingerprint)
})

test('a key that is not given is made once, kept beside the data, and readable by its owner alone', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const dataDir = join(folder, 'not', 'there', 'yet')
  assert.throws(() => loadSecretKey(null, dataDir, { mayMake: false }), /secret\.key is missing, .*"posthaste restore BACKUP --secret-key"/)
  assert.equal(existsSync(dataDir), false)
  const made = loadSecretKey(null, dataDir, { mayMake: true })
  assert.ok(Buffer.from(made, 'base64url').length >= 32)
  assert.equal(loadSecretKey(null, dataDir, { mayMake: false }), made)
  assert.equal(readFileSync(secretKeyFile(dataDir), 'utf8').trim(), made)
  assert.equal(statSync(secretKeyFile(dataDir)).mode & 0o777, 0o600)
  assert.equal(loadSecretKey('given', dataDir, { mayMake: false }), 'given')
})

test('a key file that is cut short or empty stops the start: anybody could forge what an empty key signs', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'posthaste-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const rest of ['', 'short\n']) {
    writeFileSync(secretKeyFile(folder), rest)
    assert.throws(() => loadSecretKey(null, folder, { mayMake: true }), /secret\.key is damaged/)
  }
})
