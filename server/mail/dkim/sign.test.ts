import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { checkMessage, someFrame, somePost, someReader } from '../../../tests/support/compiled-posts.ts'
import { compilePost } from '../compile/compile-post.ts'
import { composeMessage } from '../compose.ts'
import { dkimKeyFromPem, dkimKeyToPem, dkimRecord, dkimSelector, generateDkimKey, recordStrings } from './keys.ts'
import { createDkimSigner } from './sign.ts'

const now = new Date('2026-11-15T10:00:00Z')
const clock = { now: () => now }
const rsa = await generateDkimKey('rsa-sha256', dkimSelector('rsa-sha256', now))
const ed25519 = await generateDkimKey('ed25519-sha256', dkimSelector('ed25519-sha256', now))
const signer = createDkimSigner({ domain: 'example.com', keys: [rsa, ed25519], clock })

const records = new Map([rsa, ed25519].map((key) => [`${key.selector}._domainkey.example.com`, recordStrings(dkimRecord(key))]))
const resolver = async (name: string): Promise<string[][]> => {
  const strings = records.get(name)
  if (!strings) throw Object.assign(new Error(`no record for ${name}`), { code: 'ENOTFOUND' })
  return [strings]
}

/** What mailauth says of each signature. */
async function verdicts(message: Buffer | string): Promise<string[]> {
  const { results } = await dkimVerify(Buffer.from(message), { resolver: resolver as never, curTime: now })
  return results.map(({ status }) => status.result)
}

async function signed(message: Buffer | string): Promise<{ whole: Buffer; signatures: string }> {
  const bytes = Buffer.from(message)
  const split = bytes.indexOf('\r\n\r\n')
  const signatures = await signer.sign(bytes.subarray(0, split + 2), bytes.subarray(split + 4))
  return { whole: Buffer.concat([signatures, bytes]), signatures: signatures.toString() }
}

const head =
  'From: Ann <ann@example.com>\r\nTo: bob@example.org\r\nSubject: x\r\nDate: Sun, 15 Nov 2026 10:00:00 +0000\r\nMessage-ID: <a@b>\r\n'
const post = compilePost(
  { ...somePost, html: '<p>Hi {{ name }}   <b>x</b> 👋</p>' },
  { ...someFrame, track_clicks: true, track_opens: true },
)
const composed = await composeMessage({
  from: { name: 'Zoë', address: 'ann@example.com' },
  to: 'bob@example.org',
  reply_to: 'desk@example.com',
  subject: '🎉 Grüße',
  text: `Hi\t there  \n\n${'long '.repeat(500)}\n\n\n`,
  html: '<p>Hi</p>',
  message_id: 'x@example.com',
  date: now,
  headers: { 'Auto-Submitted': 'auto-generated' },
})

const messages: [what: string, message: Buffer | string][] = [
  ['a compiled post', post.fill(someReader).message],
  ['a post with hostile values', post.fill({ ...someReader, name: `.\r\n.\r\nFrom ${'é  '.repeat(300)}\t` }).message],
  [
    'a post that needs logic',
    compilePost({ ...somePost, html: '{% if name %}<p>\tHi  {{ name }} </p>{% endif %}' }, someFrame).fill(someReader).message,
  ],
  ['a post of text alone', compilePost({ ...somePost, html: null, text: 'x' }, someFrame).fill(someReader).message],
  ['what composeMessage makes', composed],
  ['long lines', `${head}\r\n${'x'.repeat(990)}\r\n${'y '.repeat(400)}\r\n`],
  ['an empty body', `${head}\r\n`],
  ['a body of empty lines', `${head}\r\n\r\n\r\n\r\n`],
  ['empty lines at the end', `${head}\r\nx\r\n\r\n\r\n`],
  ['no line end at the end', `${head}\r\nx`],
  ['tabs and spaces', `${head}\r\n\ta\t\tb  c \t\r\n  d\r\n`],
  ['UTF-8 in headers', `${head.replace('Subject: x', 'Subject: grüße 世界')}\r\nünï\r\n`],
  ['folded and odd white space in headers', `${head.replace('Subject: x', 'Subject:\r\n \t odd   spaces\r\n\tand folds \t')}\r\nx\r\n`],
  ['an empty field', `${head}Reply-To:\r\n\r\nx\r\n`],
  ['a field that is there twice', `${head}List-Help: <https://a.test>\r\nList-Help: <https://b.test>\r\n\r\nx\r\n`],
  ['fields that are not signed', `Received: from a\r\n${head}X-Other: b\r\n\r\nx\r\n`],
]

for (const [what, message] of messages) {
  test(`both signatures hold for ${what}`, async () => {
    const { whole, signatures } = await signed(message)
    assert.deepEqual(await verdicts(whole), ['pass', 'pass'])
    for (const line of signatures.split('\r\n')) assert.ok(line.length <= 78, line)
    assert.match(signatures, /^(?:DKIM-Signature: [^\r]*\r\n(?:[ ][^\r]+\r\n)+){2}$/)
    assert.doesNotMatch(signatures, /\bl=/)
  })
}

for (const [what, message] of messages.filter(([what]) => what.startsWith('a post') || what === 'a compiled post')) {
  test(`who says that it is relaxed already gets the same signatures for ${what}`, async () => {
    const bytes = Buffer.from(message)
    const split = bytes.indexOf('\r\n\r\n')
    const [headers, body] = [bytes.subarray(0, split + 2), bytes.subarray(split + 4)]
    assert.deepEqual(await signer.sign(headers, body, { isRelaxed: true }), await signer.sign(headers, body))
  })
}

test('a signed post is still a sound message', async () => {
  const { whole } = await signed(post.fill(someReader).message)
  const split = whole.indexOf('\r\nFrom:') + 2
  checkMessage(whole.subarray(split))
})

test('all that matters is signed, From once more than it is there', async () => {
  const { signatures } = await signed(post.fill(someReader).message)
  const names = /h=([^;]+);/.exec(signatures)?.[1]?.replace(/\s/g, '').split(':') ?? []
  assert.deepEqual(names.toSorted(), [
    ...['content-type', 'date', 'feedback-id', 'from', 'from', 'list-archive', 'list-id', 'list-post', 'list-unsubscribe'],
    ...['list-unsubscribe-post', 'message-id', 'mime-version', 'reply-to', 'subject', 'to'],
  ])
  assert.match(signatures, /a=rsa-sha256; c=relaxed\/relaxed; d=example\.com;\r\n s=ph20261115r; t=1794736800;/)
  assert.match(signatures, /a=ed25519-sha256; c=relaxed\/relaxed; d=example\.com;\r\n s=ph20261115e; t=1794736800;/)
})

const changes: [what: string, change: (message: string) => string][] = [
  ['a letter of the body', (message) => message.replace('Hi=20', 'Ho=20')],
  ['the subject', (message) => message.replace('Subject: News', 'Subject: Olds')],
  ['the recipient', (message) => message.replace('To: Bob', 'To: Rob')],
  ['the way out', (message) => message.replace('<https://posthaste.test/u/', '<https://evil.test/u/')],
  ['One-Click', (message) => message.replace('One-Click', 'Two-Clicks')],
  ['Feedback-ID', (message) => message.replace('Feedback-ID: post1', 'Feedback-ID: post2')],
  ['a second From on top', (message) => `From: Eve <eve@example.com>\r\n${message}`],
  ['a From less', (message) => message.replace(/^From: .*\r\n/m, '')],
  ['a line more', (message) => `${message}more\r\n`],
]

for (const [what, change] of changes) {
  test(`changed on the way: ${what}: both fail`, async () => {
    const original = (await signed(post.fill(someReader).message)).whole.toString('latin1')
    const changed = change(original)
    assert.notEqual(changed, original)
    const results = await verdicts(Buffer.from(changed, 'latin1'))
    assert.ok(
      results.every((result) => result !== 'pass'),
      results.join(),
    )
  })
}

test('what relaxed canonicalisation allows on the way does no harm', async () => {
  const original = (await signed(post.fill(someReader).message)).whole.toString('latin1')
  const changed = original.replace('Subject: News', 'subject:  News ').replace('>,\r\n <mailto:', '>, <mailto:').concat('\r\n\r\n')
  assert.deepEqual(await verdicts(Buffer.from(changed, 'latin1')), ['pass', 'pass'])
})

test('keys go through PEM, and records are what DNS needs', async () => {
  for (const key of [rsa, ed25519]) {
    const again = dkimKeyFromPem(key.selector, dkimKeyToPem(key))
    assert.deepEqual([again.algorithm, dkimRecord(again)], [key.algorithm, dkimRecord(key)])
  }
  assert.match(dkimRecord(rsa), /^v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A[\w+/]+={0,2}$/)
  assert.match(dkimRecord(ed25519), /^v=DKIM1; k=ed25519; p=[\w+/]{43}=$/)
  assert.equal(recordStrings(dkimRecord(rsa)).length, 2)
  assert.equal(recordStrings(dkimRecord(rsa)).join(''), dkimRecord(rsa))
  assert.equal(rsa.private_key.asymmetricKeyDetails?.modulusLength, 2048)
})

test('an IDN domain is signed for in A-labels', async () => {
  const idn = createDkimSigner({ domain: 'bücher.example', keys: [ed25519], clock })
  assert.match((await idn.sign(Buffer.from(head), Buffer.from('x\r\n'))).toString(), /d=xn--bcher-kva\.example;/)
})

test('what cannot sign is refused with a reason', async () => {
  const make = (change: object) => () => createDkimSigner({ domain: 'example.com', keys: [{ ...rsa, ...change }], clock })
  assert.throws(make({ algorithm: 'ed25519-sha256' }), /is no private key for ed25519-sha256/)
  assert.throws(make({ selector: 'a b' }), /"a b" is not a DKIM selector/)
  assert.throws(make({ selector: 'a;b' }), /is not a DKIM selector/)
  assert.throws(make({ private_key: generateKeyPairSync('rsa', { modulusLength: 512 }).privateKey }), /has 512 bits; 2048 are needed/)
  assert.throws(() => createDkimSigner({ domain: 'a;b', keys: [rsa], clock }), /is not a domain/)
  assert.throws(
    () =>
      dkimKeyFromPem(
        's',
        generateKeyPairSync('ec', {
          namedCurve: 'P-256',
          publicKeyEncoding: { type: 'spki', format: 'pem' },
          privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
        }).privateKey,
      ),
    /DKIM knows rsa and ed25519/,
  )
  await assert.rejects(signer.sign(Buffer.from('To: a@b.c\r\n'), Buffer.from('')), /without From/)
})
