import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureSigningKeys, rotateSigningKeys, signingRecords } from '../server/delivery/signing-keys.ts'
import { signedFields, verifySignatures } from './judges/verify-signatures.ts'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import { mailsTo } from './support/received-mail.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** Once a domain has keys, everything that leaves from it is signed: judged by a verifier that is not ours, with the records as DNS would have them. */
const peer = await startSmtpPeer({})
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services
const domain = 'posthaste.test'
const project = await app.newProject()

const verdictsOn = (raw: Buffer) => verifySignatures(database, domain, raw)

test('a broadcast and a single mail carry two signatures that hold, and one that was made before a rotation does not borrow the new key', async () => {
  const keys = { project_id: project.id, domain, algorithms: ['rsa-sha256', 'ed25519-sha256'] as ('rsa-sha256' | 'ed25519-sha256')[] }
  await ensureSigningKeys(app.services, keys)
  await ensureSigningKeys(app.services, keys)
  assert.equal((await signingRecords(database, domain)).length, 2)

  const { path, list } = await newPost(app, { subscribers: 1, project, body: { subject: 'Grüße 🦊', body_html: '<p>Hi {{ name }}</p>' } })
  await project.post(`${path}/send`)
  await until('the broadcast', () => mailsTo(peer, 'reader-1@example.org').length === 1)
  await project.post('/emails', { from: list.mailbox_address, to: 'one@example.org', subject: 'One', text: 'x' })
  for (const address of ['reader-1@example.org', 'one@example.org']) {
    const raw = mailsTo(peer, address)[0]?.raw as Buffer
    assert.deepEqual(await verdictsOn(raw), [`${domain} rsa-sha256 pass`, `${domain} ed25519-sha256 pass`], address)
    const tampered = Buffer.from(raw.toString('latin1').replace(/^Subject: .*$/m, 'Subject: Another'), 'latin1')
    assert.deepEqual(await verdictsOn(tampered), [`${domain} rsa-sha256 fail`, `${domain} ed25519-sha256 fail`], address)
  }
  // RFC 8058 section 4: who unsubscribes somebody with one click must know that these two are ours.
  for (const names of signedFields(mailsTo(peer, 'reader-1@example.org')[0]?.raw as Buffer)) {
    for (const name of [
      'from',
      'to',
      'subject',
      'date',
      'message-id',
      'list-unsubscribe',
      'list-unsubscribe-post',
      'list-id',
      'feedback-id',
    ])
      assert.ok(names.includes(name), `${name} is not among ${names.join(':')}`)
  }

  const stored = await database.many<{ private_key: Buffer }>`select private_key from dkim_keys where domain = ${domain}`
  assert.ok(
    stored.every(({ private_key }) => !private_key.includes('PRIVATE KEY')),
    'sealed',
  )
  app.clock.advance(40 * 24 * 3_600_000)
  const before = await signingRecords(database, domain)
  await rotateSigningKeys(app.services, { ...keys, algorithms: ['rsa-sha256'] })
  const after = await signingRecords(database, domain)
  assert.equal(after.length, 2)
  assert.ok(after.every(({ name }) => before.every((old) => old.name !== name)))
})
