import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { readConfig } from '../base/config.ts'
import { createSecrets, writeSecretKey } from '../base/secrets.ts'
import type { Header } from '../database/backup/format.ts'
import { planSecretKey } from './restore-secret.ts'

const key = 'the key of the backup, 32 letters or more'
const other = 'another key, also of 32 letters or more'
const folder = mkdtempSync(join(tmpdir(), 'posthaste-secret-'))
const file = join(folder, 'secret.key')
after(() => rmSync(folder, { recursive: true, force: true }))
beforeEach(() => rmSync(file, { force: true }))

const header = (secret_key: string | null, signedWith: string | null = key): Header => ({
  format: 'posthaste backup',
  version: 1,
  app_version: '1',
  migration: 1,
  created_at: '2026-11-15T09:00:00Z',
  secret_key,
  secret_fingerprint: signedWith === null ? null : createSecrets(signedWith).fingerprint,
})
const plan = (of: Header, SECRET_KEY?: string) => planSecretKey(readConfig({ DATA_DIR: folder, SECRET_KEY }), of)

test('a key inside is written where there is none, for its owner alone', () => {
  const planned = plan(header(key))
  assert.deepEqual(planned, { file, key })
  writeSecretKey(planned!.file, planned!.key)
  assert.equal(readFileSync(file, 'utf8'), `${key}\n`)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.equal(plan(header(key)), null, 'the same key is there now')
})

test('another key on this machine is never overwritten', () => {
  writeFileSync(file, `${other}\n`)
  assert.throws(() => plan(header(key)), /secret\.key is not the key .* move that file away/)
  assert.throws(() => plan(header(null)), /secret\.key is not the key .* Set SECRET_KEY to that one/)
  assert.equal(readFileSync(file, 'utf8'), `${other}\n`)
})

test('SECRET_KEY must be the one of the backup', () => {
  assert.equal(plan(header(null), key), null)
  assert.equal(plan(header(key), key), null)
  assert.throws(() => plan(header(null), other), /SECRET_KEY is not the key .* Set it to that one/)
  assert.throws(() => plan(header(key), other), /SECRET_KEY is not the key .* unset SECRET_KEY/)
})

test('a backup without its key needs it from elsewhere, unless nothing was ever signed', () => {
  assert.throws(() => plan(header(null)), /does not hold the secret key .* Set SECRET_KEY/)
  assert.equal(plan(header(null, null)), null)
  assert.equal(plan(header(null, null), other), null)
})
