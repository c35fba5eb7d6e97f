import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { createSmtpTransport } from '../transports/smtp.ts'

/** When the octets of a message may be written over: `onWritten`. */
const envelope = { from: 'b@example.com', to: 'bob@example.org' }
const about = { message_id: 'm1@example.com', subject: 'Hi', isDotSafe: true }
const messageOf = (size: number) => Buffer.from(`Subject: Hi\r\n\r\n${'0123456789abcde\r\n'.repeat(size / 17)}`)

for (const starttls of [false, true]) {
  test(`octets that are written over as soon as they may be arrive as they were, ${starttls ? 'encrypted' : 'in clear text'}`, async () => {
    const peer = await startSmtpPeer({ offers: { starttls } })
    const transport = createSmtpTransport(`smtp://127.0.0.1:${peer.port}`, { socket_ms: 5_000 })
    after(async () => {
      await transport.close()
      await peer.close()
    })
    const expected = messageOf(200_000)
    const calls: string[] = []
    const sendOne = async () => {
      const message = Buffer.from(expected)
      const onWritten = () => {
        calls.push('written')
        message.fill('X')
      }
      const { kind } = await transport.send(envelope, message, { ...about, onAccepted: () => calls.push('accepted'), onWritten })
      assert.equal(kind, 'delivered')
    }
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 8 }, sendOne))
    assert.equal(peer.messages.length, 40)
    assert.ok(peer.messages.every(({ raw }) => raw.equals(expected)))
    assert.deepEqual(calls.slice(0, 2), ['accepted', 'written'])
    assert.equal(peer.commands.includes('STARTTLS'), starttls)
    assert.deepEqual([calls.length, calls.filter((call) => call === 'written').length], [80, 40])
  })
}

test('a server that says yes before it has read the message leaves the octets alone', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write('220 hasty ESMTP\r\n')
    socket.on('data', async (said) => {
      if (String(said).startsWith('EHLO')) return socket.write('250-hasty\r\n250 PIPELINING\r\n')
      socket.pause()
      socket.write('250 ok\r\n250 ok\r\n354 go\r\n')
      await sleep(50)
      socket.write('250 I believe you\r\n')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const transport = createSmtpTransport(`smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, { socket_ms: 2_000 })
  let isWritten = false
  const onWritten = () => {
    isWritten = true
  }
  const { kind } = await transport.send(envelope, messageOf(17_000_000), { ...about, onWritten })
  assert.equal(kind, 'delivered')
  assert.equal(isWritten, false)
  for (const socket of sockets) socket.destroy()
  await transport.close()
  server.close()
})

test('octets of a message that was refused are not given free', async () => {
  const peer = await startSmtpPeer({ atDot: () => '554 5.7.1 no' })
  const transport = createSmtpTransport(`smtp://127.0.0.1:${peer.port}`, { socket_ms: 5_000 })
  const { kind } = await transport.send(envelope, messageOf(17_000), { ...about, onWritten: () => assert.fail('it was refused') })
  assert.equal(kind, 'bounced')
  await transport.close()
  await peer.close()
})
