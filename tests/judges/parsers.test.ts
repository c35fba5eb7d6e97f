import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { parseId } from '../../server/base/ids.ts'
import { ensureSigningKeys } from '../../server/delivery/signing-keys.ts'
import { startApp } from '../support/posthaste.ts'
import { newList } from '../support/posts.ts'
import { type ReceivedMessage, startSmtpPeer } from '../support/smtp-peer.ts'
import { until } from '../support/until.ts'
import { type HardName, type HardPost, hardLines, hardNames, hardPosts, hardSubjects } from './hard-mail.ts'
import { faultsOf, type ReadMail, readWithPostalMime, readWithPython, whyNoPython } from './read-mail.ts'
import { verifySignatures } from './verify-signatures.ts'

/** Every message of a set that is made to break things, as it arrives at a real SMTP peer: whole, and with no header that somebody else chose. */
const peer = await startSmtpPeer({})
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const { database } = app.services
const domain = 'posthaste.test'
const project = await app.newProject()
const algorithms: ('rsa-sha256' | 'ed25519-sha256')[] = ['rsa-sha256', 'ed25519-sha256']
await ensureSigningKeys(app.services, { project_id: project.id, domain, algorithms })
const { list, path } = await newList(app, { project })
for (const person of hardNames) await addReader(person)

/** The API takes 200 letters; the database may have got more from an import or an older release. */
async function addReader({ email, name }: HardName): Promise<void> {
  const { status, body } = await project.post(`/lists/${list.id}/subscribers`, { email, verified: true })
  assert.equal(status, 201, JSON.stringify(body))
  await database.run`update subscribers set name = ${name} where project_id = ${project.id} and id = ${parseId('sub', body.id)}`
}

/** In the order of the names. */
async function broadcast({ listName, what, ...words }: HardPost): Promise<ReceivedMessage[]> {
  peer.messages.length = 0
  assert.equal((await project.patch(`/lists/${list.id}`, { name: listName })).status, 200, what)
  const { status, body: post } = await project.post(path, words)
  assert.equal(status, 201, JSON.stringify(post))
  assert.equal((await project.post(`${path}/${post.id}/send`)).status, 202)
  await until('the post to be sent', async () => (await project.get(`${path}/${post.id}`)).body.status === 'sent')
  return hardNames.map(({ address, email }) => {
    const found = peer.messages.filter(({ to }) => to.includes(address ?? email))
    assert.equal(found.length, 1, `${what}: ${email}`)
    return found[0] as ReceivedMessage
  })
}

const withLf = (text: string | null): string => (text ?? '').replaceAll('\r\n', '\n')

function judgeOne(mail: ReadMail, expected: { subject: string; to: ReadMail['to']; from: ReadMail['from'] }, about: string): void {
  assert.deepEqual(mail.defects, [], about)
  assert.deepEqual({ subject: mail.subject, to: mail.to, from: mail.from }, expected, about)
  const names = mail.names.map((name) => name.toLowerCase())
  assert.deepEqual(names.filter((name) => name === 'dkim-signature').length, 2, about)
  const others = names.filter((name) => name !== 'dkim-signature')
  assert.equal(new Set(others).size, others.length, `${about}: a field twice in ${others.join(' ')}`)
}

/** What everybody is asked of the same mails. */
async function askAll(t: TestContext, raws: Buffer[], judge: (mails: ReadMail[]) => void): Promise<void> {
  for (const raw of raws) {
    assert.deepEqual(faultsOf(raw), [], raw.toString('latin1', 0, 500))
    assert.deepEqual(await verifySignatures(database, domain, raw), [`${domain} rsa-sha256 pass`, `${domain} ed25519-sha256 pass`])
  }
  await t.test('for postal-mime', async () => judge(await Promise.all(raws.map(readWithPostalMime))))
  await t.test('for Python’s email package', { skip: whyNoPython() }, () => judge(readWithPython(raws)))
}

for (const post of hardPosts) {
  test(`a broadcast, ${post.what}: every copy is signed and whole`, async (t) => {
    const messages = await broadcast(post)
    await askAll(
      t,
      messages.map(({ raw }) => raw),
      (mails) => {
        for (const [index, mail] of mails.entries()) {
          const { email, address, inSubject, shown } = hardNames[index] as HardName
          const subject = post.subject.replace('{{ name }}', () => inSubject)
          judgeOne(
            mail,
            { subject, to: [[shown, address ?? email]], from: [[post.listName, list.mailbox_address]] },
            `${post.what}: ${email}`,
          )
          assert.deepEqual(mail.names, mails[0]?.names, email)
          if (post.body_text)
            assert.ok(withLf(mail.text).startsWith(`${hardLines.join('\n')}\n`), `${post.what}: the text part for ${email}`)
          for (const line of post.htmlLines ?? []) assert.ok(mail.html?.includes(line), `${line} for ${email}`)
          assert.equal(mail.html === null, post.body_html === undefined)
        }
      },
    )
  })
}

test('single mails with the same subjects, bodies and addresses', async (t) => {
  peer.messages.length = 0
  const text = hardLines.join('\n')
  const html = hardLines.map((line) => `<p>${line}</p>`).join('\r')
  const wanted = hardSubjects.map((subject, index) => ({ subject, to: hardNames[index % hardNames.length] as HardName }))
  for (const { subject, to } of wanted) {
    const { status, body } = await project.post('/emails', { from: list.mailbox_address, to: to.email, subject, text, html })
    assert.equal(status, 201, JSON.stringify(body))
  }
  await askAll(
    t,
    peer.messages.map(({ raw }) => raw),
    (mails) => {
      assert.equal(mails.length, wanted.length)
      for (const [index, mail] of mails.entries()) {
        const { subject, to } = wanted[index] as (typeof wanted)[number]
        judgeOne(mail, { subject, to: [['', to.address ?? to.email]], from: mail.from }, subject)
        assert.deepEqual(mail.names, mails[0]?.names, subject)
        assert.equal(mail.from[0]?.[1], list.mailbox_address)
        assert.equal(withLf(mail.text).trimEnd(), text.trimEnd(), subject)
        assert.equal(withLf(mail.html).trimEnd(), html.replaceAll('\r', '\n'), subject)
      }
    },
  )
})

test('what cannot be in a header, or in mail at all, is refused and sends nothing', async () => {
  peer.messages.length = 0
  await project.events()
  const mail = { from: list.mailbox_address, to: 'one@example.org', subject: 'x', text: 'x' }
  for (const bad of ['A\r\nBcc: evil@evil.example', 'A\nB', 'A\u0000B', 'A\ud800B', '\udfffA', 'x'.repeat(10_000)]) {
    const refused = await project.post('/emails', { ...mail, subject: bad })
    assert.deepEqual([refused.status, refused.body.error.code], [422, 'validation_error'], JSON.stringify(bad.slice(0, 20)))
    assert.equal((await project.post(path, { subject: bad, body_text: 'x' })).status, 422)
    assert.equal((await project.patch(`/lists/${list.id}`, { name: bad })).status, 422)
  }
  for (const bad of ['A\u0000B', 'A\ud800B']) {
    assert.equal((await project.post('/emails', { ...mail, text: bad })).status, 422)
    assert.equal((await project.post('/emails', { ...mail, html: bad })).status, 422)
    assert.equal((await project.post(`/lists/${list.id}/subscribers`, { email: 'new@example.org', name: bad, verified: true })).status, 422)
  }
  for (const to of ['a@example.org\r\nBcc: evil@evil.example', 'a@example.org,b@example.org', 'A <a@example.org>']) {
    assert.equal((await project.post('/emails', { ...mail, to })).status, 422, to)
  }
  assert.deepEqual([peer.messages.length, await project.events()], [0, []])
})
