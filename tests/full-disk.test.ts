import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Log } from '../server/base/log.ts'
import { troubleOf } from '../server/base/trouble.ts'
import { createBreaker } from '../server/delivery/broadcast/breaker.ts'
import { DomainGate } from '../server/delivery/broadcast/domain-gate.ts'
import { openJournal } from '../server/delivery/broadcast/journal.ts'
import { startNode } from '../server/delivery/broadcast/node.ts'
import { createRenderer } from '../server/delivery/broadcast/render.ts'
import { startBroadcastSender } from '../server/delivery/broadcast/send-broadcasts.ts'
import { startApp } from './support/posthaste.ts'
import { newPost } from './support/posts.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/** A sender whose journal is on a full disk: every write to /dev/full says so. */
const skip = existsSync('/dev/full') ? false : 'this system has no /dev/full'
const folder = mkdtempSync(join(tmpdir(), 'posthaste-full-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const journals = 400
const fill = () => {
  for (let number = 1; number <= journals; number++) symlinkSync('/dev/full', join(folder, `${number}.journal`))
}
const left = () => readdirSync(folder).length

function listen(): { log: Log; said: string[] } {
  const said: string[] = []
  const say = (_about: object, text?: string) => void said.push(text ?? '')
  return { log: { debug: () => {}, info: () => {}, warn: say, error: say } as unknown as Log, said }
}

test('a full disk stops a post, is told in words for as long as it lasts, and in the log once a minute', { skip }, async () => {
  const peer = await startSmtpPeer()
  const app = await startApp({ ROLES: 'http', OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
  after(() => peer.close())
  const { database, clock, transport, secrets, signers, config } = app.services
  const { log, said } = listen()
  fill()
  const leaseMs = 60_000
  const node = await startNode({ database, clock, log, dataDir: folder, leaseMs })
  const journal = openJournal(folder)
  const breaker = createBreaker({ database, clock, log })
  const renderer = createRenderer({ database, secrets, signers, breaker, log })
  const gate = new DomainGate(config.DOMAIN_LIMITS, transport)
  const sender = { database, clock, log, transport, node: { ...node, journal }, renderer, breaker, gate, leaseMs, concurrency: 2 }
  const began = performance.now()
  const sending = startBroadcastSender(sender)
  after(async () => {
    await sending.stop()
    journal.close()
  })

  const recipients = 20
  const { project, path } = await newPost(app, { subscribers: recipients })
  assert.equal((await project.post(`${path}/send`)).status, 202)
  const words = 'posts do not go out just now, since DATA_DIR cannot be written: the disk is full'
  await until('the trouble to be told', () => troubleOf(log) === words, { withinMs: 60_000 })
  const before = left()
  await until('some more tries', () => left() < before - 4, { withinMs: 60_000 })
  await until('it to be told still', () => troubleOf(log) === words)
  assert.ok(peer.messages.length < recipients, 'nothing more leaves')
  const line = 'sending stops: what is accepted cannot be noted in DATA_DIR; is the disk full?'
  const times = said.filter((text) => text === line).length
  assert.ok(times >= 1 && times <= 1 + (performance.now() - began) / 60_000, `said ${times} times`)

  for (const name of readdirSync(folder)) if (name.endsWith('.journal')) rmSync(join(folder, name))
  await until('all to have it', () => peer.messages.length >= recipients, { withinMs: 60_000 })
  await until('the end of the trouble', () => troubleOf(log) === null)
  assert.equal(said.filter((text) => text === 'the journal can be written again: sending goes on').length, 1)
  const post = await until('the post to be sent', async () => {
    const { body } = await project.get(path)
    return body.status === 'sent' ? body : null
  })
  assert.equal(post.stats.delivered, recipients)
  assert.equal(new Set(peer.messages.map(({ to }) => to[0])).size, recipients)
  assert.equal(peer.messages.length, recipients, 'nobody has it twice')
})
