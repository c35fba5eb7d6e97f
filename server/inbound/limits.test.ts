import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { after, test } from 'node:test'
import { startDnsPeer } from '../../tests/support/dns-peer.ts'
import { connectSmtp, greetedSmtp } from '../../tests/support/smtp-client.ts'
import { startTestSmtpServer, usualLimits } from '../../tests/support/smtp-server.ts'
import { until } from '../../tests/support/until.ts'
import { pruneGreylist } from './greylist.ts'

const peersOf = (limits: Partial<typeof usualLimits.peers>) => ({ ...usualLimits, peers: { ...usualLimits.peers, ...limits } })

/** What a peer that has not connected yet is told first. */
async function firstWord(where: Parameters<typeof connectSmtp>[0]): Promise<string> {
  const client = await connectSmtp(where)
  const word = await client.reply()
  client.close()
  return word
}

test('one address has so many connections and messages; another, and a relay of ours, is not touched by that', async () => {
  const limits = peersOf({ connections: 2, messages_per_minute: 3 })
  const server = await startTestSmtpServer({ limits, relays: ['127.0.0.8/30'] })
  const ann = await server.addMailbox('ann')
  const [first] = [await greetedSmtp(server), await greetedSmtp(server)]
  assert.equal(await firstWord(server), '421 4.7.0 Too many connections from your address; close some first')
  assert.match(await firstWord({ ...server, from: '127.0.0.2' }), /^220 /)
  for (let number = 0; number < 3; number++) assert.match(await first.send(ann, 'Subject: x\r\n'), /^250 /)
  assert.equal(
    await first.say('MAIL FROM:<ann@example.com>'),
    '450 4.7.1 Too many messages from your address in this minute; try again later',
  )
  for (let number = 0; number < 4; number++) {
    const relay = await greetedSmtp({ ...server, from: '127.0.0.9' })
    assert.match(await relay.send(ann, 'Subject: x\r\n'), /^250 /)
  }
  first.close()
  await until('a place to be free', async () => (await firstWord(server)).startsWith('220'))
})

test('whoever guesses names is cut off, and after more of it not let in', async () => {
  const server = await startTestSmtpServer({ limits: peersOf({ wrong_recipients: 3, wrong_recipients_per_hour: 5 }) })
  await server.addMailbox('paused', { status: 'paused' })
  const guess = async () => {
    const client = await greetedSmtp(server)
    await client.say('EHLO client.test')
    await client.say('MAIL FROM:<a@example.com>')
    return client
  }
  const client = await guess()
  for (let number = 0; number < 2; number++) assert.match(await client.say(`RCPT TO:<guess${number}@posthaste.test>`), /^550 5\.1\.1 /)
  assert.match(await client.say('RCPT TO:<paused@posthaste.test>'), /^450 /)
  assert.equal(await client.say('RCPT TO:<guess@posthaste.test>'), '421 4.7.0 Too many recipients that do not exist; try again later')
  assert.equal(await client.reply(), '')
  const again = await guess()
  assert.match(await again.say('RCPT TO:<guess@posthaste.test>'), /^550 /)
  assert.match(await again.say('RCPT TO:<guess@posthaste.test>'), /^421 4\.7\.0 /)
  assert.match(await firstWord(server), /^421 4\.7\.0 Too many recipients/)
  assert.match(await firstWord({ ...server, from: '127.0.0.2' }), /^220 /)
})

test('when all connections are taken others are told so', async () => {
  const server = await startTestSmtpServer({ maxConnections: 2 })
  await greetedSmtp(server)
  await greetedSmtp(server)
  assert.match(await firstWord(server), /^421 posthaste\.test Too many connected clients/)
})

test('when the memory for mail is full, a message is put off, and what is there goes on', async () => {
  const server = await startTestSmtpServer({ relays: ['127.0.0.1'], limits: { ...usualLimits, in_flight_bytes: 420_000 } })
  const ann = await server.addMailbox('ann')
  const [first, second] = [await greetedSmtp(server), await greetedSmtp(server)]
  await first.beginMessage(ann)
  first.write('x'.repeat(250_000))
  await second.beginMessage(ann)
  // The bytes of the first are on their way: what is said on one connection does not order what comes on another.
  await until('no room', async () => {
    const answer = await second.say(`${'y'.repeat(100_000)}\r\n.`)
    await second.beginMessage(ann)
    return answer === '452 4.3.1 Too much mail is under way; try again later'
  })
  assert.match(await first.say('\r\n.'), /^250 /)
  assert.match(await second.say(`${'y'.repeat(100_000)}\r\n.`), /^250 /)
})

test('peers that drip bytes are ended in every stage, whatever they say', async () => {
  const times = { talking: { calm_ms: 700, crowded_ms: 700 }, sending: { calm_ms: 1_500, crowded_ms: 1_500 } }
  const server = await startTestSmtpServer({ limits: { ...usualLimits, times } })
  const ann = await server.addMailbox('ann')
  const [mute, chatty, sending] = [await greetedSmtp(server), await greetedSmtp(server), await greetedSmtp(server)]
  await sending.beginMessage(ann)
  const drip = setInterval(() => {
    mute.write('E')
    chatty.write('NOOP\r\n')
    sending.write('x')
  }, 50)
  after(() => clearInterval(drip))
  await until('all to be ended', () => !mute.isOpen() && !chatty.isOpen() && !sending.isOpen())
  assert.equal(await mute.reply(), '421 4.4.2 That took too long; come again')
  assert.equal(await sending.reply(), '421 4.4.2 That took too long; come again')
  assert.equal((await server.spooledFor(ann)).length, 0)
})

test('a hundred slow peers do not keep others out', async () => {
  const times = { talking: { calm_ms: 60_000, crowded_ms: 500 }, sending: { calm_ms: 60_000, crowded_ms: 500 } }
  const server = await startTestSmtpServer({ maxConnections: 60, limits: { ...usualLimits, times } })
  const ann = await server.addMailbox('ann')
  const slow = await Promise.all(
    Array.from({ length: 100 }, (_, index) => connectSmtp({ ...server, from: `127.0.1.${1 + Math.floor(index / 10)}` })),
  )
  const drip = setInterval(() => {
    for (const client of slow) if (client.isOpen()) client.write('N')
  }, 100)
  after(() => clearInterval(drip))
  const client = await until('a way in', async () => {
    const candidate = await connectSmtp(server)
    return (await candidate.reply()).startsWith('220') ? candidate : null
  })
  assert.match(await client.send(ann, 'Subject: in time\r\n'), /^250 /)
})

test('behind a load balancer the PROXY line says who it is, and only of those who are trusted', async () => {
  const server = await startTestSmtpServer({ proxies: ['127.0.0.3'], limits: peersOf({ connections: 1 }) })
  const ann = await server.addMailbox('ann')
  const proxied = (address: string) => ({ ...server, from: '127.0.0.3', proxyLine: `PROXY TCP4 ${address} 203.0.113.1 5000 25` })
  const client = await greetedSmtp(proxied('203.0.113.7'))
  assert.match(await client.send(ann, 'Subject: x\r\n'), /^250 /)
  assert.match(await firstWord(proxied('203.0.113.7')), /^421 4\.7\.0 /)
  assert.match(await firstWord(proxied('203.0.113.8')), /^220 /)
  const [row] = await server.spooledFor(ann)
  assert.equal(row?.peer.address, '203.0.113.7')
  assert.match(row.raw.toString(), /^Received: from client\.test \(\[203\.0\.113\.7\]\)/)
  const stranger = await connectSmtp({ ...server, proxyLine: 'PROXY TCP4 203.0.113.9 203.0.113.1 5000 25' })
  assert.match(await stranger.reply(), /^421 /)
  const silent = await connectSmtp({ ...server, from: '127.0.0.3' })
  silent.write('EHLO client.test\r\n')
  await until('a proxy without the line to be cut off', () => !silent.isOpen())
})

test('an address on a block list is refused at MAIL, a relay of ours is not looked up', async () => {
  const dns = await startDnsPeer({ '2.0.0.127.list.test': { A: ['127.0.0.2'] }, '4.0.0.127.list.test': { A: ['127.0.0.2'] } })
  after(() => dns.close())
  const resolver = new Resolver({ timeout: 1_000, tries: 1 })
  resolver.setServers([dns.address])
  const server = await startTestSmtpServer({ resolver, dnsbl: ['list.test'], relays: ['127.0.0.4'] })
  const ann = await server.addMailbox('ann')
  const listed = await greetedSmtp({ ...server, from: '127.0.0.2' })
  await listed.say('EHLO client.test')
  assert.equal(await listed.say('MAIL FROM:<a@example.com>'), '554 5.7.1 Your address 127.0.0.2 is on the list of list.test')
  assert.match(await (await greetedSmtp({ ...server, from: '127.0.0.3' })).send(ann, 'Subject: x\r\n'), /^250 /)
  assert.match(await (await greetedSmtp({ ...server, from: '127.0.0.4' })).send(ann, 'Subject: x\r\n'), /^250 /)
  assert.deepEqual(dns.asked, ['A 2.0.0.127.list.test', 'A 3.0.0.127.list.test'])
})

test('greylisting lets pass who comes again after a minute, and remembers them', async () => {
  const server = await startTestSmtpServer({ isGreylisting: true, relays: ['127.0.9.1'] })
  await server.addMailbox('ann')
  const answer = async ({ from = '127.0.0.1', sender = 'a@example.com', local = 'ann' } = {}) => {
    const client = await greetedSmtp({ ...server, from })
    await client.say('EHLO client.test')
    await client.say(`MAIL FROM:<${sender}>`)
    const said = await client.say(`RCPT TO:<${local}@posthaste.test>`)
    client.close()
    return said
  }
  assert.equal(await answer(), '450 4.7.1 We have not met before; try again in a minute')
  assert.match(await answer(), /^450 /)
  assert.match(await answer({ local: 'nobody' }), /^550 5\.1\.1 /)
  assert.match(await answer({ from: '127.0.9.1' }), /^250 /)
  server.clock.advance(61_000)
  assert.match(await answer({ from: '127.0.0.77', sender: 'A@example.com' }), /^250 /)
  assert.match(await answer(), /^250 /)
  assert.match(await answer({ sender: 'b@example.com' }), /^450 /)
  assert.match(await answer({ from: '127.0.7.1' }), /^450 /)
  server.clock.advance(3 * 86_400_000)
  assert.match(await answer({ sender: 'b@example.com' }), /^450 /, 'too late for a second try')
  assert.match(await answer(), /^250 /)
  const rows = () => server.database.first<{ count: number }>`select count(*) from greylist`
  assert.deepEqual(await rows(), { count: 3 })
  assert.equal(await pruneGreylist(server.database, server.clock.now()), 1)
  server.clock.advance(40 * 86_400_000)
  assert.equal(await pruneGreylist(server.database, server.clock.now()), 2)
})
