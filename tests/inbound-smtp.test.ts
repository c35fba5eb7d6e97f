import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { makeSelfSigned } from '../server/inbound/self-signed.ts'
import { startApp } from './support/posthaste.ts'
import { connectSmtp, greetedSmtp } from './support/smtp-client.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-inbound-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('the whole program takes in mail for a list’s mailbox, with the certificate that it was given', async () => {
  const [SMTP_TLS_CERT, SMTP_TLS_KEY] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const pair = makeSelfSigned({ host: 'mx.example.com', from: new Date('2026-01-01'), until: new Date('2126-01-01') })
  writeFileSync(SMTP_TLS_CERT, pair.cert)
  writeFileSync(SMTP_TLS_KEY, pair.key)
  const app = await startApp({ SMTP_TLS_CERT, SMTP_TLS_KEY })
  const project = await app.newProject()
  await project.post('/lists', { name: 'Inbound news' })
  const mailbox = await app.services.database.first<{ address: string }>`select address from mailboxes where project_id = ${project.id}`
  const client = await greetedSmtp({ port: app.smtpPort })
  await client.say('EHLO client.test')
  await client.say('STARTTLS')
  assert.equal((await client.startTls()).getPeerCertificate().subject.CN, 'mx.example.com')
  assert.match(await client.send(mailbox?.address as string, 'From: ann@example.com\r\nSubject: Hello\r\n\r\nHello'), /^250 2\.6\.0 /)
  await app.stop()
  await assert.rejects(connectSmtp({ port: app.smtpPort }), /ECONNREFUSED/)
})

test('a port that is taken, and a certificate that cannot be read, stop the start in one line', async () => {
  const app = await startApp()
  await assert.rejects(startApp({ SMTP_PORT: String(app.smtpPort) }), /^Error: Port \d+ is already in use\. .*SMTP_PORT=2526 npm start$/)
  const missing = join(folder, 'missing.pem')
  await assert.rejects(startApp({ SMTP_TLS_CERT: missing, SMTP_TLS_KEY: missing }), /SMTP_TLS_CERT cannot be read: .*missing\.pem/)
})

test('without the role nothing listens', async () => {
  const app = await startApp({ ROLES: 'http' })
  assert.equal(app.smtpPort, 0)
})
