import assert from 'node:assert/strict'
import { test } from 'node:test'
import PostalMime from 'postal-mime'
import { startApp } from './support/posthaste.ts'
import { type Answer, speaking } from './support/project.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { until } from './support/until.ts'

/**
 * What an agent lives through, over HTTP alone and with mail that really travels: it registers by itself, reads, sends what it has
 * free, is refused, pays, sends again, and is claimed by a human, one way and the other.
 */
const peer = await startSmtpPeer({})
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })
const stranger = speaking(app.url, null)

async function register() {
  const { status, body } = await stranger.post('/agent/auth', { type: 'anonymous' })
  assert.ok(status === 200 || status === 201, JSON.stringify(body))
  assert.equal(body.ok, true)
  return { ...body.data, ...speaking(app.url, body.data.credential) }
}

async function codeFor(address: string): Promise<string> {
  const message = await until(`a code for ${address}`, () => peer.messages.find(({ to }) => to.includes(address)))
  return /\b\d{6}\b/.exec((await PostalMime.parse(message.raw)).text ?? '')?.[0] ?? assert.fail('no code')
}

const mailTo = (number: number) => ({ to: `friend-${number}@example.org`, subject: `Letter ${number}`, text: 'Hello' })

/** `Payment a="b", c="d"` → { a: 'b', c: 'd' } */
const challengeIn = (answer: Answer): Record<string, string> => {
  const header = answer.headers.get('www-authenticate') ?? ''
  assert.match(header, /^Payment /)
  return Object.fromEntries([...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))
}

test('an agent registers, reads, sends its ten mails, is asked to pay for the eleventh, pays and sends', async () => {
  const agent = await register()
  assert.deepEqual(agent.scopes, ['read'])
  assert.match(agent.mailbox.address, /^[a-z]+-[a-z]+(-\d+)?@posthaste\.test$/)
  assert.deepEqual((await agent.get('/lists')).body, [])
  assert.equal((await agent.post('/lists', { name: 'x' })).status, 403)
  const { body: me } = await agent.get('/api/me')
  assert.deepEqual([me.user.kind, me.user.id], ['agent', agent.user_id])

  for (let number = 1; number <= 10; number++) assert.equal((await agent.post('/emails', mailTo(number))).status, 201)
  const { body: usage } = await agent.get('/usage')
  assert.deepEqual([usage.plan, usage.emails_included, usage.emails_sent, usage.emails_remaining], ['anonymous', 10, 10, 0])

  const refused = await agent.post('/emails', mailTo(11))
  assert.deepEqual([refused.status, refused.body.error.code], [402, 'limit_exceeded'])
  const challenge = challengeIn(refused)
  assert.deepEqual([challenge.method, challenge.intent, challenge.header], ['stripe', 'charge', 'Payment-Authorization'])
  const request = JSON.parse(Buffer.from(challenge.request as string, 'base64url').toString())
  assert.deepEqual([request.amount, request.currency], ['50', 'usd'])

  const credential = Buffer.from(JSON.stringify({ challenge, payload: { spt: 'spt_sandbox_ok' } })).toString('base64url')
  const pay = (number: number) =>
    agent.request('POST', '/emails', {
      body: JSON.stringify(mailTo(number)),
      headers: { 'content-type': 'application/json', 'payment-authorization': `Payment ${credential}` },
    })
  assert.equal((await pay(12)).status, 402, 'the challenge was for another letter')
  const paid = await pay(11)
  assert.equal(paid.status, 201, JSON.stringify(paid.body))
  const receipt = JSON.parse(Buffer.from(paid.headers.get('payment-receipt') ?? '', 'base64url').toString())
  assert.deepEqual([receipt.method, receipt.status], ['stripe', 'success'])
  assert.equal((await pay(11)).status, 402, 'a challenge pays once')
  assert.equal(peer.messages.filter(({ to }) => to.includes('friend-11@example.org')).length, 1)
  assert.equal(peer.messages.filter(({ to }) => to[0]?.startsWith('friend-')).length, 11)
})

test('claimed and merged, the agent’s old key and its new one work in the human’s account', async () => {
  const agent = await register()
  const human = 'merging@example.net'
  const asked = await stranger.post('/agent/auth/claim', { claim_token: agent.claim_token, email: human })
  assert.deepEqual([asked.body.ok, asked.body.data.verification_required], [true, true])
  const { body } = await stranger.post('/agent/auth/claim/complete', { claim_token: agent.claim_token, otp: await codeFor(human) })
  assert.deepEqual([body.ok, body.data.mode, body.data.scopes], [true, 'merge', ['read', 'write']])
  const fresh = speaking(app.url, body.data.credential)
  const { body: me } = await fresh.get('/api/me')
  assert.deepEqual([me.user.email, me.user.kind], [human, 'human'])
  await until('the old key to follow', async () => (await agent.get('/api/me')).body.user?.email === human)
  assert.equal((await fresh.post('/lists', { name: 'Ours' })).status, 201)
  assert.equal((await agent.get('/usage')).body.plan, 'free')
  assert.equal((await agent.post('/emails', mailTo(20))).body.from, agent.mailbox.address)
})

test('claimed and linked, the agent keeps its own account, and its human sees it, lets it send and switches it off', async () => {
  const agent = await register()
  const human = 'linking@example.net'
  await stranger.post('/agent/auth/claim', { claim_token: agent.claim_token, email: human, link: true })
  const { body } = await stranger.post('/agent/auth/claim/complete', { claim_token: agent.claim_token, otp: await codeFor(human) })
  assert.deepEqual([body.ok, body.data.mode, body.data.user_id], [true, 'link', agent.user_id])
  const fresh = speaking(app.url, body.data.credential)
  assert.equal((await fresh.get('/api/me')).body.user.kind, 'agent')
  assert.equal((await fresh.get('/usage')).body.emails_included, 100)
})
