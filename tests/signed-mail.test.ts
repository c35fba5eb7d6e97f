import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dkimVerify } from 'mailauth'
import { ensureSigningKeys, retireSigningKeys, signingRecords } from '../server/delivery/signing-keys.ts'
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

async function verdictsOn(raw: Buffer): Promise<string[]> {
  const records = await signingRecords(database, domain)
  const resolver = async (name: string, type: string) => {
    const found = type === 'TXT' ? records.filter((record) => record.name === name) : []
    if (found.length === 0) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
    return found.map(({ value }) => [value])
  }
  const { results } = await dkimVerify(raw, { resolver } as never)
  return results.map(({ status, signingDomain }) => `${signingDomain} ${status.result}`)
}

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
    assert.deepEqual(await verdictsOn(raw), [`${domain} pass`, `${domain} pass`], address)
    const tampered = Buffer.from(raw.toString('latin1').replace(/^Subject: .*$/m, 'Subject: Another'), 'latin1')
    assert.deepEqual(await verdictsOn(tampered), [`${domain} fail`, `${domain} fail`], address)
  }

  const stored = await database.many<{ private_key: Buffer }>`select private_key from dkim_keys where domain = ${domain}`
  assert.ok(
    stored.every(({ private_key }) => !private_key.includes('PRIVATE KEY')),
    'sealed',
  )
  app.clock.advance(40 * 24 * 3_600_000)
  await retireSigningKeys(database, domain)
  await ensureSigningKeys(app.services, { ...keys, algorithms: ['rsa-sha256'] })
  assert.equal((await signingRecords(database, domain)).length, 1)
})
