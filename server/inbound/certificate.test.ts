import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { until } from '../../tests/support/until.ts'
import { createLog } from '../base/log.ts'
import { type Certificate, followCertificate, keepOwnCertificate, readCertificate } from './certificate.ts'
import { makeSelfSigned } from './self-signed.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-certificate-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
const years = { from: new Date('2026-01-01'), until: new Date('2030-01-01') }
const at = (text: string) => ({ now: () => new Date(text) })

test('our own certificate is made once, kept from other users’ eyes, and made anew for another name or before it ends', () => {
  const keep = (host: string, time: string) => keepOwnCertificate({ dataDir: folder, host, clock: at(time) })
  const first = keep('a.test', '2026-05-01')
  assert.ok(new X509Certificate(first.cert).checkPrivateKey(createPrivateKey(first.key)))
  assert.equal(statSync(join(folder, 'smtp-certificate.pem')).mode & 0o777, 0o600)
  const same = (one: Certificate, other: Certificate) =>
    new X509Certificate(one.cert).fingerprint256 === new X509Certificate(other.cert).fingerprint256
  assert.ok(same(first, keep('a.test', '2035-05-01')))
  const renewed = keep('a.test', '2036-04-20')
  assert.ok(!same(first, renewed))
  assert.ok(!same(renewed, keep('b.test', '2036-04-20')))
  writeFileSync(join(folder, 'smtp-certificate.pem'), 'damaged')
  assert.ok(new X509Certificate(keep('b.test', '2036-04-20').cert).checkHost('b.test'))
  assert.deepEqual(readdirSync(folder), ['smtp-certificate.pem'])
})

test('files that are missing or do not belong together are named', () => {
  assert.throws(() => readCertificate(files), /SMTP_TLS_CERT cannot be read: .*cert\.pem/)
  writeFileSync(files.cert, makeSelfSigned({ host: 'a.test', ...years }).cert)
  assert.throws(() => readCertificate(files), /SMTP_TLS_KEY cannot be read: .*key\.pem/)
  writeFileSync(files.key, makeSelfSigned({ host: 'a.test', ...years }).key)
  assert.throws(() => readCertificate(files), /key\.pem is not the key of the certificate in .*cert\.pem/)
  writeFileSync(files.key, 'no key')
  assert.throws(() => readCertificate(files), /is not the key/)
})

test('a renewed pair is taken when both of its files are there', async () => {
  const write = (pair: Certificate) => {
    writeFileSync(files.cert, pair.cert)
    writeFileSync(files.key, pair.key)
  }
  write(makeSelfSigned({ host: 'old.test', ...years }))
  const seen: Certificate[] = []
  const following = followCertificate(files, { log: createLog('silent'), everyMs: 5, onChange: (pair) => seen.push(pair) })
  after(() => following.stop())
  const renewed = makeSelfSigned({ host: 'new.test', ...years })
  writeFileSync(files.cert, renewed.cert)
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(seen, [], 'the certificate alone fits no key')
  write(renewed)
  await until('the new pair', () => seen.length > 0)
  assert.deepEqual(seen, [renewed])
})
