import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Receipt } from 'mppx'
import { Mppx, stripe } from 'mppx/client'
import { credentialFor, usageOf, useUp } from './support/payable.ts'
import { startApp } from './support/posthaste.ts'
import { speaking, type TestProject } from './support/project.ts'
import { startSmtpPeer } from './support/smtp-peer.ts'
import { startStripePeer } from './support/stripe-peer.ts'

/** POST /emails over the plan, from the refusal to the inbox: an agent, the card processor and the mail server are all real peers. */
const [smtp, card] = [await startSmtpPeer({}), await startStripePeer()]
test.after(() => smtp.close())
const app = await startApp({
  ...{ PAYMENTS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_secret', STRIPE_PROFILE: 'profile_ours', STRIPE_API_URL: card.url },
  OUTBOUND: `smtp://127.0.0.1:${smtp.port}`,
})

let number = 0
async function newMail(): Promise<{ project: TestProject; mail: Record<string, string>; arrived: () => number; charged: () => number }> {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  await useUp(app, project)
  const to = `reader-${++number}@example.org`
  const seen = card.charges.length
  await project.events()
  return {
    project,
    mail: { from: list.mailbox_address, to, subject: 'Hello', text: 'Hello' },
    arrived: () => smtp.messages.filter((message) => message.to.includes(to)).length,
    charged: () => card.charges.length - seen,
  }
}
const send = (who: Pick<TestProject, 'request'>, mail: object, headers: Record<string, string> = {}) =>
  who.request('POST', '/emails', { body: JSON.stringify(mail), headers: { 'content-type': 'application/json', ...headers } })

test('an agent with a wallet pays by itself, and the mail arrives', async () => {
  const { project, mail, arrived, charged } = await newMail()
  const wallet = stripe.charge({ paymentMethod: 'pm_card_visa', createToken: async () => 'spt_wallet' })
  const agent = Mppx.create({ polyfill: false, methods: [wallet] })
  const response = await agent.fetch(`${app.url}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${project.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(mail),
  })
  assert.equal(response.status, 201)
  assert.equal(Receipt.fromResponse(response).reference, card.charges.at(-1)?.id)
  assert.deepEqual([arrived(), charged()], [1, 1])
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
  assert.deepEqual(await project.events(), ['email.sent', 'email.delivered'])
})

test('refused, nothing leaves and nothing is recorded', async () => {
  const { project, mail, arrived, charged } = await newMail()
  const { status, body } = await send(project, mail)
  assert.deepEqual([status, body.error.code], [402, 'limit_exceeded'])
  assert.deepEqual([arrived(), charged()], [0, 0])
  assert.deepEqual(await app.services.database.many`select 1 from emails where project_id = ${project.id}`, [])
  assert.deepEqual(await project.events(), [])
})

test('the same Idempotency-Key with the same credential answers again, with the receipt, and neither sends nor charges', async () => {
  const { project, mail, arrived, charged } = await newMail()
  const key = { 'idempotency-key': 'one-mail' }
  const refusal = await send(project, mail, key)
  assert.equal(refusal.status, 402)
  const paying = { ...key, 'payment-authorization': credentialFor(refusal, 'spt_1') }
  const first = await send(project, mail, paying)
  const second = await send(project, mail, paying)
  assert.deepEqual([first.status, second.status], [201, 200])
  assert.deepEqual(second.body, first.body)
  assert.equal(second.headers.get('payment-receipt'), first.headers.get('payment-receipt'))
  assert.deepEqual([arrived(), charged()], [1, 1])
  assert.deepEqual(await usageOf(app, project), { used: 101, overage: 0, paid: 1 })
})

test('twenty at once with one key and one credential: one mail, one charge', async () => {
  const { project, mail, arrived, charged } = await newMail()
  const refusal = await send(project, mail)
  const paying = { 'idempotency-key': 'many', 'payment-authorization': credentialFor(refusal, 'spt_1') }
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(project, mail, paying)))
  assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [200, 201])
  assert.deepEqual([arrived(), charged()], [1, 1])
})

test('a payment whose answer was lost is not taken twice', async () => {
  const { project, mail, arrived, charged } = await newMail()
  const paying = { 'idempotency-key': 'lost', 'payment-authorization': credentialFor(await send(project, mail), 'spt_1') }
  card.next('/v1/payment_intents', 'drop')
  assert.equal((await send(project, mail, paying)).status, 502)
  assert.deepEqual([arrived(), charged()], [0, 1])
  assert.equal((await send(project, mail, paying)).status, 201)
  assert.deepEqual([arrived(), charged()], [1, 1])
})

test('the credential alone sends this mail, and no other', async () => {
  const { project, mail, arrived, charged } = await newMail()
  const nobody = speaking(app.url, null)
  const authorization = credentialFor(await send(project, mail), 'spt_1')
  assert.equal((await send(nobody, { ...mail, subject: 'Other' }, { authorization })).status, 402)
  assert.equal((await nobody.request('GET', '/usage', { headers: { authorization } })).status, 401)
  assert.equal((await send(nobody, mail, { authorization })).status, 201)
  await project.setPlan('light')
  assert.equal((await send(nobody, mail, { authorization })).status, 402)
  assert.deepEqual([arrived(), charged()], [1, 1])
})
