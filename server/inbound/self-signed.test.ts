import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { integer, objectId, octetString, time } from '../base/der.ts'
import { makeSelfSigned } from './self-signed.ts'

const from = new Date('2026-01-02T03:04:05.678Z')
const until = new Date('2036-01-02T03:04:05.678Z')

test('the certificate is one that OpenSSL reads, and says what it should', () => {
  const { cert, key } = makeSelfSigned({ host: 'mail.example.com', from, until })
  const read = new X509Certificate(cert)
  assert.equal(read.subject, 'CN=mail.example.com')
  assert.equal(read.issuer, 'CN=mail.example.com')
  assert.equal(read.subjectAltName, 'DNS:mail.example.com')
  assert.deepEqual(read.keyUsage, ['1.3.6.1.5.5.7.3.1'])
  assert.equal(read.ca, false)
  assert.equal(read.validFromDate.toISOString(), '2026-01-02T03:04:05.000Z')
  assert.equal(read.validToDate.toISOString(), '2036-01-02T03:04:05.000Z')
  assert.ok(read.checkPrivateKey(createPrivateKey(key)))
  assert.ok(read.verify(read.publicKey), 'signed by its own key')
  assert.equal(read.checkHost('mail.example.com'), 'mail.example.com')
  assert.equal(read.checkHost('other.example.com'), undefined)
  assert.notEqual(read.serialNumber, new X509Certificate(makeSelfSigned({ host: 'a.test', from, until }).cert).serialNumber)
})

test('a long name and a year after 2049 are no trouble', () => {
  const host = `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com`
  const read = new X509Certificate(makeSelfSigned({ host, from, until: new Date('2050-06-01T00:00:00Z') }).cert)
  assert.equal(read.subject, `CN=${host.slice(0, 64)}`)
  assert.equal(read.checkHost(host), host)
  assert.equal(read.validToDate.toISOString(), '2050-06-01T00:00:00.000Z')
})

test('a client that is given the certificate trusts the server that has it', async () => {
  const made = makeSelfSigned({ host: 'localhost', from: new Date(Date.now() - 60_000), until: new Date(Date.now() + 60_000) })
  const server = createServer(made, (socket) => socket.end('hello')).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: made.cert })
  await once(socket, 'secureConnect')
  assert.ok(socket.authorized)
  socket.destroy()
  server.close()
})

test('numbers, names of objects, lengths and times have their one right form', () => {
  const hex = (bytes: Buffer) => bytes.toString('hex')
  assert.equal(hex(integer(Buffer.of(0))), '020100')
  assert.equal(hex(integer(Buffer.of(0, 0, 1))), '020101')
  assert.equal(hex(integer(Buffer.of(0x80))), '02020080')
  assert.equal(hex(objectId('1.2.840.10045.4.3.2')), '06082a8648ce3d040302')
  assert.equal(hex(octetString(Buffer.alloc(127))).slice(0, 4), '047f')
  assert.equal(hex(octetString(Buffer.alloc(128))).slice(0, 6), '048180')
  assert.equal(hex(octetString(Buffer.alloc(300))).slice(0, 8), '0482012c')
  assert.equal(time(new Date('2049-12-31T23:59:59Z')).subarray(2).toString(), '491231235959Z')
  assert.equal(time(new Date('2050-01-01T00:00:00Z')).subarray(2).toString(), '20500101000000Z')
})
