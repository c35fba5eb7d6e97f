import assert from 'node:assert/strict'
import { test } from 'node:test'
import { challengesOf, credentialFor, sender, startPayable, usageOf, useUp } from '../../../tests/support/payable.ts'
import { createTestClock, startApp } from '../../../tests/support/posthaste.ts'
import type { TestProject } from '../../../tests/support/project.ts'

const clock = createTestClock()
const app = await startApp({}, { clock })
const url = await startPayable(app)

async function newSender(path?: string) {
  const project = await app.newProject()
  await useUp(app, project)
  return { project, ...sender(url, project, path) }
}
const problem = (name: string) => `https://paymentauth.org/problems/${name}`

// biome-ignore lint/suspicious/noExplicitAny: a credential is taken apart and put together wrongly
type Parts = { challenge: any; payload: any; source?: unknown }
const open = (credential: string): Parts => JSON.parse(Buffer.from(credential.slice('Payment '.length), 'base64url').toString())
const close = (parts: unknown): string => `Payment ${Buffer.from(JSON.stringify(parts)).toString('base64url')}`
const inRequest = (request: string, change: object): string =>
  Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(request, 'base64url').toString()), ...change })).toString('base64url')

/** What is done to a good credential, and what it is called then. */
const altered: [string, string, (parts: Parts) => unknown][] = [
  [
    'another id',
    'invalid-challenge',
    (p) => ({ ...p, challenge: { ...p.challenge, id: `${p.challenge.id.startsWith('A') ? 'B' : 'A'}${p.challenge.id.slice(1)}` } }),
  ],
  ['a shorter id', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, id: p.challenge.id.slice(0, 20) } })],
  ['no id', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, id: '' } })],
  ['an id with padding', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, id: `${p.challenge.id}=` } })],
  ['another realm', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, realm: 'example.com' } })],
  ['another method', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, method: 'tempo' } })],
  ['another intent', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, intent: 'session' } })],
  [
    'a lower amount',
    'invalid-challenge',
    (p) => ({ ...p, challenge: { ...p.challenge, request: inRequest(p.challenge.request, { amount: '1' }) } }),
  ],
  [
    'another currency',
    'invalid-challenge',
    (p) => ({ ...p, challenge: { ...p.challenge, request: inRequest(p.challenge.request, { currency: 'jpy' }) } }),
  ],
  ['a later end', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, expires: '2099-01-01T00:00:00.000Z' } })],
  ['no end', 'invalid-challenge', ({ challenge: { expires: _, ...challenge }, payload }) => ({ challenge, payload })],
  ['another digest', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, digest: 'sha-256=:AAAA:' } })],
  ['no digest', 'invalid-challenge', ({ challenge: { digest: _, ...challenge }, payload }) => ({ challenge, payload })],
  ['another header', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, header: 'X-Payment' } })],
  ['no header', 'invalid-challenge', ({ challenge: { header: _, ...challenge }, payload }) => ({ challenge, payload })],
  ['something opaque', 'invalid-challenge', (p) => ({ ...p, challenge: { ...p.challenge, opaque: 'e30' } })],
  // The same text under the HMAC, cut in other places.
  [
    'a realm that holds the method',
    'invalid-challenge',
    ({ challenge: { id, realm, request, expires, digest, header }, payload }) => ({
      challenge: {
        ...{
          id,
          realm: `${realm}|stripe`,
          method: 'charge',
          intent: request,
          request: expires,
          expires: digest,
          digest: '',
          opaque: header,
        },
      },
      payload,
    }),
  ],
  [
    'a request that holds its end',
    'invalid-challenge',
    ({ challenge: { request, expires, digest, header, ...rest }, payload }) => ({
      challenge: { ...rest, request: `${request}|${expires}`, expires: digest, digest: '', opaque: header },
      payload,
    }),
  ],
  ['a number for a text', 'malformed-credential', (p) => ({ ...p, challenge: { ...p.challenge, realm: 5 } })],
  ['no challenge', 'malformed-credential', ({ payload }) => ({ payload })],
  ['nothing', 'malformed-credential', () => null],
  ['a list', 'malformed-credential', (p) => [p]],
  ['no payload', 'invalid-payload', ({ challenge }) => ({ challenge })],
  ['no token', 'invalid-payload', (p) => ({ ...p, payload: {} })],
  ['a token of another kind', 'invalid-payload', (p) => ({ ...p, payload: { spt: 'tok_visa' } })],
  ['a token with more in it', 'invalid-payload', (p) => ({ ...p, payload: { spt: 'spt_1&amount=0' } })],
  ['a token without end', 'invalid-payload', (p) => ({ ...p, payload: { spt: `spt_${'x'.repeat(500)}` } })],
]

test('whatever is altered in a credential, it is refused with a fresh challenge, and the right one still works', async () => {
  const { project, send, pay } = await newSender()
  let good = ''
  for (const [what, name, alter] of altered) {
    good = credentialFor(await send({ count: 2 }), 'spt_good')
    const refusal = await pay({ count: 2 }, close(alter(open(good))))
    assert.deepEqual([refusal.status, refusal.body.type], [402, problem(name)], what)
    assert.equal(refusal.body.error.code, 'limit_exceeded')
    assert.match(refusal.headers.get('www-authenticate') ?? '', new RegExp(`^Payment id="${refusal.body.challengeId}"`), what)
  }
  for (const rubbish of ['Payment AAAA', `Payment ${Buffer.from('{').toString('base64url')}`, 'Payment eyJ']) {
    const refusal = await pay({ count: 2 }, rubbish)
    assert.deepEqual([refusal.status, refusal.body.type], [402, problem('malformed-credential')], rubbish)
  }
  for (const none of ['Payment !!', 'Bearer x', '', `Payment ${'A'.repeat(9000)}`]) {
    const refusal = await pay({ count: 2 }, none)
    assert.deepEqual([refusal.status, refusal.body.type], [402, problem('payment-required')], none.slice(0, 20))
  }
  assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
  // The words for people are not bound: they may be left out.
  const parts = open(good)
  delete parts.challenge.description
  assert.equal((await pay({ count: 2 }, close(parts))).status, 202)
  assert.deepEqual(await usageOf(app, project), { used: 102, overage: 0, paid: 2 })
  assert.deepEqual(await project.events(), [])
})

test('a challenge is good for the body, the thing, the operation and the project that it was issued for', async () => {
  const { project, send, pay } = await newSender()
  const credential = credentialFor(await send({ count: 2, note: 'a' }), 'spt_good')
  const others = [
    await pay({ count: 2, note: 'b' }, credential),
    await pay({ note: 'a', count: 2 }, credential),
    await pay({ count: 3, note: 'a' }, credential),
    await sender(url, project, '/first/b/send').pay({ count: 2, note: 'a' }, credential),
    await sender(url, project, '/second/a/send').pay({ count: 2, note: 'a' }, credential),
    await (await newSender()).pay({ count: 2, note: 'a' }, credential),
  ]
  for (const { status, body } of others) assert.deepEqual([status, body.type], [402, problem('invalid-challenge')])
  assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
  assert.equal((await pay({ count: 2, note: 'a' }, credential)).status, 202)
})

test('ten minutes later it has expired', async () => {
  const { project, send, pay } = await newSender()
  const credential = credentialFor(await send({ count: 1 }), 'spt_good')
  clock.advance(10 * 60_000)
  const { status, body } = await pay({ count: 1 }, credential)
  assert.deepEqual([status, body.type], [402, problem('payment-expired')])
  assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
})

test('one challenge, redeemed twenty times at once: one goes through', async () => {
  const { project, send, pay } = await newSender()
  const credential = credentialFor(await send({ count: 1 }), 'spt_good')
  const answers = await Promise.all(Array.from({ length: 20 }, () => pay({ count: 1 }, credential)))
  assert.equal(answers.filter(({ status }) => status === 202).length, 1)
  assert.ok(answers.every(({ status }) => [202, 402].includes(status)))
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})

test('one challenge, two tokens at once: one is charged', async () => {
  const { project, send, pay } = await newSender()
  const refusal = await send({ count: 1 })
  const answers = await Promise.all(['spt_one', 'spt_two', 'spt_three'].map((spt) => pay({ count: 1 }, credentialFor(refusal, spt))))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 402, 402])
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})

test('declined, or in need of approval: nothing is sent, and neither the token nor the challenge can be tried again', async () => {
  for (const [spt, name] of [
    ['spt_declined', 'verification-failed'],
    ['spt_needs_action', 'payment-action-required'],
  ] as const) {
    const { project, send, pay } = await newSender()
    const refusal = await send({ count: 1 })
    const { status, body } = await pay({ count: 1 }, credentialFor(refusal, spt))
    assert.deepEqual([status, body.type], [402, problem(name)])
    for (const again of [spt, 'spt_good']) {
      const second = await pay({ count: 1 }, credentialFor(refusal, again))
      assert.deepEqual([second.status, second.body.type], [402, problem('invalid-challenge')])
    }
    assert.equal((await challengesOf(app, project))[0]?.status, 'closed')
    assert.deepEqual(await usageOf(app, project), { used: 100, overage: 0, paid: 0 })
  }
})

test('when the answer is lost, the same credential goes on, even after ten minutes, and another token does not', async () => {
  const { project, send, pay } = await newSender()
  const refusal = await send({ count: 1 })
  const credential = credentialFor(refusal, 'spt_timeout')
  const lost = await pay({ count: 1 }, credential)
  assert.deepEqual([lost.status, lost.body.error.code, lost.body.type], [502, 'provider_error', problem('internal-payment-error')])
  assert.equal((await challengesOf(app, project))[0]?.status, 'charging')
  const other = await pay({ count: 1 }, credentialFor(refusal, 'spt_other'))
  assert.deepEqual([other.status, other.body.type], [402, problem('invalid-challenge')])
  clock.advance(11 * 60_000)
  const found = await pay({ count: 1 }, credential)
  assert.equal(found.status, 202)
  assert.ok(found.headers.get('payment-receipt'))
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})

test('at most twenty are open in a project: one more ends the oldest', async () => {
  const { project, send, pay } = await newSender()
  const other = await newSender()
  await other.send({ count: 1 })
  const oldest = credentialFor(await send({ count: 1 }), 'spt_good')
  const second = credentialFor(await send({ count: 1 }), 'spt_good')
  for (let more = 0; more < 19; more++) await send({ count: 1 })
  const opened = async (whose: TestProject) => (await challengesOf(app, whose)).filter(({ status }) => status === 'open').length
  assert.deepEqual([await opened(project), await opened(other.project)], [20, 1])
  assert.equal((await pay({ count: 1 }, second)).status, 202)
  const { status, body } = await pay({ count: 1 }, oldest)
  assert.deepEqual([status, body.type], [402, problem('invalid-challenge')])
  await Promise.all(Array.from({ length: 60 }, () => send({ count: 1 })))
  assert.equal(await opened(project), 20)
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})
