import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTransport } from 'nodemailer'
import { connectSmtp, greetedSmtp } from '../../tests/support/smtp-client.ts'
import { startTestSmtpServer } from '../../tests/support/smtp-server.ts'
import { onWake } from '../base/wake.ts'

const server = await startTestSmtpServer()
const { port } = server
const ann = await server.addMailbox('ann')

test('the greeting names us, and EHLO offers what we can do, a login not among it', async () => {
  const client = await connectSmtp({ port })
  assert.equal(await client.reply(), '220 posthaste.test ESMTP')
  const [, ...offers] = (await client.say('EHLO client.test')).split('\n').map((line) => line.slice(4))
  assert.deepEqual(offers.sort(), ['8BITMIME', 'ENHANCEDSTATUSCODES', 'PIPELINING', 'SIZE 1048576', 'SMTPUTF8', 'STARTTLS'])
  assert.match(await client.say('AUTH PLAIN AGFubgBodW50ZXIy'), /^500 5\.5\.2 /)
})

test('a message is stored as it came, with our line on top, when 250 is said', async () => {
  const to = await server.addMailbox('stored')
  let wakes = 0
  const off = onWake('inbound', () => wakes++)
  const client = await greetedSmtp({ port })
  assert.match(await client.send(to, 'Subject: Hello\r\n\r\n..two dots\r\n\0\xff'), /^250 2\.6\.0 /)
  off()
  const [row, ...rest] = await server.spooledFor(to)
  assert.equal(rest.length, 0)
  assert.equal(wakes, 1)
  assert.deepEqual(row?.peer, { address: '127.0.0.1', name: 'client.test', is_tls: false })
  assert.equal(row.envelope_from, 'ann@example.com')
  assert.deepEqual(row.recipients, [to])
  assert.deepEqual([row.attempts, row.next_attempt_at], [0, row.received_at])
  const [received, body] = row.raw.toString().split(/(?<=\+0000\r\n)/)
  assert.match(
    received ?? '',
    /^Received: from client\.test \(\[127\.0\.0\.1\]\)\r\n\tby posthaste\.test with ESMTP id \S+\r\n\tfor <stored@posthaste\.test>;\r\n\t\w+, \d\d /,
  )
  assert.equal(body, 'Subject: Hello\r\n\r\n.two dots\r\n\0ÿ\r\n')
})

test('over STARTTLS the trace and the peer say so, and what came before it counts for nothing', async () => {
  const to = await server.addMailbox('secured')
  const client = await greetedSmtp({ port })
  await client.say('EHLO client.test')
  await client.say('MAIL FROM:<ann@example.com>')
  assert.match(await client.say('STARTTLS'), /^220 /)
  const secured = await client.startTls()
  assert.equal(secured.getPeerCertificate().subject.CN, 'posthaste.test')
  assert.match(secured.getProtocol() ?? '', /^TLSv1\.[23]$/)
  assert.match(await client.say(`RCPT TO:<${to}>`), /^503 /)
  assert.doesNotMatch(await client.say('EHLO client.test'), /STARTTLS/)
  assert.match(await client.send(to, 'Subject: Safe\r\n\r\n'), /^250 /)
  const [row] = await server.spooledFor(to)
  assert.equal(row?.peer.is_tls, true)
  assert.match(row.raw.toString(), /with ESMTPS id/)
})

test('what is asked in one packet is answered whole and in order, before a handshake and before a goodbye', async () => {
  const to = await server.addMailbox('packets')
  const client = await greetedSmtp({ port })
  client.write('EHLO client.test\r\nMAIL FROM:<ann@example.com>\r\nSTARTTLS\r\n')
  for (const answer of [/^250-/, /^250 2\.1\.0 /, /^220 /]) assert.match(await client.reply(), answer)
  await client.startTls()
  client.write(`EHLO client.test\r\nMAIL FROM:<ann@example.com>\r\nRCPT TO:<${to}>\r\nRCPT TO:<nobody@posthaste.test>\r\nNOOP\r\nQUIT\r\n`)
  for (const answer of [/^250-/, /^250 2\.1\.0 /, /^250 2\.1\.5 /, /^550 5\.1\.1 /, /^250 /, /^221 /])
    assert.match(await client.reply(), answer)
})

test('nodemailer delivers over TLS, 8-bit and with an address beyond ASCII', async () => {
  const to = await server.addMailbox('grüße')
  const transport = createTransport({ host: '127.0.0.1', port, requireTLS: true, tls: { rejectUnauthorized: false } })
  const info = await transport.sendMail({ from: 'ann@example.com', to, subject: 'Grüße', text: 'Schöne Grüße' })
  transport.close()
  assert.deepEqual(info.accepted, [to])
  assert.match(info.response, /^250 2\.6\.0 /)
  const [row] = await server.spooledFor(to)
  assert.match(row?.raw.toString() ?? '', /with UTF8SMTPS id/)
  assert.match(row?.raw.toString() ?? '', /\tfor <grüße@posthaste\.test>;/)
})

test('a whole envelope sent ahead of its answers is taken (RFC 2920)', async () => {
  const to = await server.addMailbox('ahead')
  const client = await greetedSmtp({ port })
  await client.say('EHLO client.test')
  client.write(`MAIL FROM:<a@example.com>\r\nRCPT TO:<${to}>\r\nDATA\r\n`)
  for (const code of ['250 2.1.0', '250 2.1.5', '354']) assert.ok((await client.reply()).startsWith(code))
  client.write(`Subject: 1\r\n\r\n.\r\nMAIL FROM:<b@example.com>\r\nRCPT TO:<${to}>\r\nDATA\r\n`)
  for (const code of ['250 2.6.0', '250 2.1.0', '250 2.1.5', '354']) assert.ok((await client.reply()).startsWith(code))
  assert.match(await client.say('Subject: 2\r\n\r\n.'), /^250 2\.6\.0/)
  assert.deepEqual(
    (await server.spooledFor(to)).map((row) => row.envelope_from),
    ['a@example.com', 'b@example.com'],
  )
})

/** What some servers take for the end of a message, and what it is made of here. Only CRLF . CRLF is one (RFC 5321 section 4.1.1.4). */
const smuggling: [sequence: string, stored: string][] = [
  ['\n.\n', '\r\n.\r\n'],
  ['\n.\r\n', '\r\n.\r\n'],
  ['\r\n.\n', '\r\n.\r\n'],
  ['\r.\r', '\r\n.\r\n'],
  ['\r.\r\n', '\r\n.\r\n'],
  ['\r\n.\r', '\r\n.\r\n'],
  ['\r.\n', '\r\n.\r\n'],
  ['\n.\r', '\r\n.\r\n'],
  ['\r\n\0.\r\n', '\r\n\0.\r\n'],
  ['\r\n.\0\r\n', '\r\n.\0\r\n'],
  ['\r\n..\r\n', '\r\n.\r\n'],
  ['\n..\n', '\r\n.\r\n'],
]

test('nothing but CRLF . CRLF ends a message: what follows is text, never a command', async () => {
  const to = await server.addMailbox('smuggled')
  const hidden = `MAIL FROM:<evil@example.com>\r\nRCPT TO:<${ann}>\r\nDATA\r\nFrom: evil\r\n\r\nhidden`
  const client = await greetedSmtp({ port })
  for (const [number, [sequence, stored]] of smuggling.entries()) {
    const answer = await client.send(to, `Subject: ${number}\r\n\r\nfirst${sequence}${hidden}`)
    assert.match(answer, /^250 2\.6\.0/, JSON.stringify(sequence))
    const rows = await server.spooledFor(to)
    assert.equal(rows.length, number + 1, JSON.stringify(sequence))
    assert.ok(rows.at(-1)?.raw.toString('latin1').endsWith(`first${stored}${hidden}\r\n`), JSON.stringify(sequence))
    assert.doesNotMatch(rows.at(-1)?.raw.toString('latin1') ?? '', /[^\r]\n|\r[^\n]/)
  }
  assert.equal((await server.spooledFor(ann)).length, 0)
})

test('the same, when each byte is a packet of its own', async () => {
  const to = await server.addMailbox('dripped')
  const client = await greetedSmtp({ port })
  await client.beginMessage(to)
  for (const byte of 'a\n.\nb\r.\rc\r\n..\r\nd\r\n.\r\n') {
    client.write(byte)
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  assert.match(await client.reply(), /^250 2\.6\.0/)
  const [row] = await server.spooledFor(to)
  assert.ok(row?.raw.toString().endsWith('+0000\r\na\r\n.\r\nb\r\n.\r\nc\r\n.\r\nd\r\n'), JSON.stringify(row?.raw.toString()))
})

test('a message that is too large is refused at MAIL where its size is told, and else at its end', async () => {
  const client = await greetedSmtp({ port })
  await client.say('EHLO client.test')
  assert.match(await client.say('MAIL FROM:<a@example.com> SIZE=1048577'), /^552 5\.3\.4 /)
  await client.beginMessage(ann)
  const line = `${'x'.repeat(998)}\r\n`
  for (let sent = 0; sent < 2_000; sent++) client.write(line)
  assert.equal(await client.say('.'), '552 5.3.4 The message is larger than we take')
  assert.match(await client.send(ann, 'Subject: small\r\n\r\n'), /^250 /)
})

test('a message that nobody could read is refused politely, and the next one taken', async () => {
  const to = await server.addMailbox('monster')
  const client = await greetedSmtp({ port })
  const deep = Array.from({ length: 100 }, (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`).join(
    '',
  )
  assert.equal(await client.send(to, deep), '554 5.6.0 The message has parts nested more than 30 deep, which is more than we take')
  assert.match(await client.send(to, 'Subject: fine\r\n\r\n'), /^250 /)
  assert.equal((await server.spooledFor(to)).length, 1)
})

test('a message that has been through more than 30 servers goes in circles', async () => {
  const to = await server.addMailbox('hops')
  const client = await greetedSmtp({ port })
  const hops = (count: number) => `${'Received: from a by b\r\n'.repeat(count)}Subject: x\r\n\r\nReceived: not one\r\n`
  assert.match(await client.send(to, hops(30)), /^250 /)
  assert.equal(await client.send(to, hops(31)), '554 5.4.6 The message has passed too many servers: it goes in circles')
  assert.equal((await server.spooledFor(to)).length, 1)
})

test('a hundred recipients, and not one more at a time', async () => {
  const to = await server.addMailbox('many')
  const client = await greetedSmtp({ port })
  await client.say('EHLO client.test')
  await client.say('MAIL FROM:<a@example.com>')
  for (let number = 0; number < 100; number++)
    assert.match(await client.say(`RCPT TO:<many+${number}@posthaste.test>`), /^250 /, String(number))
  assert.match(await client.say('RCPT TO:<many+100@posthaste.test>'), /^452 4\.5\.3 /)
  await client.say('DATA')
  assert.match(await client.say('Subject: x\r\n\r\n.'), /^250 /)
  const [row] = await server.spooledFor('many+99@posthaste.test')
  assert.equal(row?.recipients.length, 100)
  assert.doesNotMatch(row.raw.toString(), /\tfor </)
  assert.equal((await server.spooledFor(to)).length, 0)
})

test('a message without a sender has one recipient', async () => {
  await server.addMailbox('other')
  const client = await greetedSmtp({ port })
  await client.say('EHLO client.test')
  await client.say('MAIL FROM:<>')
  assert.match(await client.say(`RCPT TO:<${ann}>`), /^250 /)
  assert.match(await client.say('RCPT TO:<other@posthaste.test>'), /^550 5\.5\.3 /)
  await client.say('DATA')
  assert.match(await client.say('Subject: bounce\r\n\r\n.'), /^250 /)
  const rows = await server.spooledFor(ann)
  assert.deepEqual([rows.at(-1)?.envelope_from, rows.at(-1)?.recipients], ['', [ann]])
})

test('a peer that leaves in the middle of a message leaves nothing', async () => {
  const to = await server.addMailbox('half')
  const client = await greetedSmtp({ port })
  await client.beginMessage(to)
  client.write('Subject: half\r\n\r\nand th')
  client.close()
  const other = await greetedSmtp({ port })
  assert.match(await other.send(to, 'Subject: whole\r\n\r\n'), /^250 /)
  assert.equal((await server.spooledFor(to)).length, 1)
})

test('whoever talks before the greeting, or HTTP, is cut off', async () => {
  const early = await connectSmtp({ port })
  early.write('EHLO early.test\r\n')
  assert.match(await early.reply(), /^421 /)
  assert.equal(await early.reply(), '')
  const web = await greetedSmtp({ port })
  assert.match(await web.say('GET / HTTP/1.1'), /^421 /)
})

test('a renewed certificate is shown to whoever comes next', async () => {
  const { makeSelfSigned } = await import('./self-signed.ts')
  server.renew(makeSelfSigned({ host: 'renewed.test', from: new Date('2026-01-01'), until: new Date('2126-01-01') }))
  const client = await greetedSmtp({ port })
  await client.say('EHLO client.test')
  await client.say('STARTTLS')
  assert.equal((await client.startTls()).getPeerCertificate().subject.CN, 'renewed.test')
})

test('at a stop the message under way is finished, others are told to come again, and nobody new is let in', async () => {
  const stopping = await startTestSmtpServer()
  const to = await stopping.addMailbox('ann')
  const [busy, idle] = [await greetedSmtp(stopping), await greetedSmtp(stopping)]
  await busy.beginMessage(to)
  busy.write('Subject: under way\r\n')
  const stopped = stopping.stop()
  assert.match(await idle.reply(), /^421 4\.3\.2 /)
  assert.equal(await idle.reply(), '')
  assert.match(await busy.say('\r\nrest\r\n.'), /^250 2\.6\.0 /)
  assert.equal(await busy.reply(), '')
  await stopped
  assert.equal((await stopping.spooledFor(to)).length, 1)
  await assert.rejects(connectSmtp(stopping), /ECONNREFUSED/)
})
