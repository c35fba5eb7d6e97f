import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureSigningKeys, signingRecords } from '../../server/delivery/signing-keys.ts'
import { startDnsPeer } from '../support/dns-peer.ts'
import { startApp } from '../support/posthaste.ts'
import { newList } from '../support/posts.ts'
import { until } from '../support/until.ts'
import { type Postfix, startPostfix, whyNoPostfix } from './postfix.ts'

/** A stock Postfix with OpenDKIM takes our mail and finds both signatures good, with the keys as DNS has them. */
const domain = 'posthaste.test'
const skip = whyNoPostfix()

/** The fields above the message's own, which the judge wrote. */
const headerOf = (mail: Buffer) =>
  mail
    .toString('latin1')
    .split('\n\n', 1)[0]
    ?.replace(/\n[ \t]+/g, ' ') ?? ''
const recipientOf = (mail: Buffer) => /^X-Original-To: (.*)$/m.exec(headerOf(mail))?.[1]
/** "pass rsa-sha256 posthaste.test", for each signature. */
function verdictsOn(mail: Buffer): string[] {
  const results = /^Authentication-Results: judge\.test;(.*)$/m.exec(headerOf(mail))?.[1] ?? ''
  return [...results.matchAll(/\bdkim=(\w+).*?header\.d=(\S+).*?header\.a=(\S+)/g)].map(
    ([, verdict, signer, how]) => `${verdict} ${how} ${signer}`,
  )
}

async function start() {
  const dns = await startDnsPeer({})
  const postfix = await startPostfix({ domains: ['example.org', 'xn--bcher-kva.example'], dnsServer: dns.address })
  const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${postfix.port}` })
  const project = await app.newProject()
  await ensureSigningKeys(app.services, { project_id: project.id, domain, algorithms: ['rsa-sha256', 'ed25519-sha256'] })
  for (const { name, value } of await signingRecords(app.services.database, domain)) dns.names[name] = { TXT: [value] }
  test.after(async () => {
    await app.stop()
    await postfix.stop()
    await dns.close()
  })
  return { app, postfix, project }
}

const arrived = (postfix: Postfix, count: number) =>
  until(`${count} mails on the judge's disk`, () => postfix.delivered().length === count, { withinMs: 30_000, everyMs: 100 }).catch(
    (error: Error) => {
      throw new Error(`${error.message}\n${postfix.log()}`)
    },
  )

test('Postfix and OpenDKIM write dkim=pass for the RSA and the Ed25519 signature of broadcasts and single mails', { skip }, async () => {
  const { app, postfix, project } = await start()
  const { list, path } = await newList(app, { project, subscribers: 3 })
  await project.patch(`/lists/${list.id}`, { name: 'Füchse, "Bären" & Co 🦊', track_opens: true, track_clicks: true })
  const people = ['leser@bücher.example', 'grüße@example.org']
  for (const email of people)
    assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email, name: 'שלום, "עולם"', verified: true })).status, 201)
  const { body: post } = await project.post(path, {
    subject: 'Grüße an {{ name }} 🦊',
    body_html: `<p>Hello {{ name }}</p>\n.\n..dots\n<p>${'long '.repeat(1_000)}<a href="https://example.org/">link</a></p>`,
  })
  assert.equal((await project.post(`${path}/${post.id}/send`)).status, 202)
  await arrived(postfix, 5)
  const single = {
    from: list.mailbox_address,
    to: 'one@example.org',
    subject: 'Eins, zwei 🦊',
    text: `x\n.\n${'y'.repeat(2_000)}`,
    html: '<p>ü</p>',
  }
  assert.equal((await project.post('/emails', single)).status, 201)
  await arrived(postfix, 6)

  const mails = postfix.delivered()
  const recipients = [
    'grüße@example.org',
    'leser@xn--bcher-kva.example',
    'one@example.org',
    'reader-1@example.org',
    'reader-2@example.org',
    'reader-3@example.org',
  ]
  assert.deepEqual(mails.map((mail) => Buffer.from(recipientOf(mail) ?? '', 'latin1').toString()).sort(), recipients)
  for (const mail of mails)
    assert.deepEqual(verdictsOn(mail), [`pass rsa-sha256 ${domain}`, `pass ed25519-sha256 ${domain}`], headerOf(mail))
})
