import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApp } from '../../../tests/support/posthaste.ts'
import { type PeerAction, startSmtpPeer } from '../../../tests/support/smtp-peer.ts'
import { until } from '../../../tests/support/until.ts'

/** A server that takes longer, at the first try of each, than whoever sends is kept waiting. */
const late: Record<string, PeerAction> = {
  'taken@example.org': { delayMs: 33_000 },
  // biome-ignore lint/suspicious/noThenProperty: what the peer does then; nobody awaits it
  'refused@example.org': { delayMs: 33_000, then: '451 4.3.0 not now' },
  'keyless@example.org': { delayMs: 33_000 },
}
const peer = await startSmtpPeer({
  atRcpt: ({ line }) => {
    const to = /<(.*)>/.exec(line)?.[1] ?? ''
    const action = late[to]
    delete late[to]
    return action
  },
})
test.after(() => peer.close())
const app = await startApp({ OUTBOUND: `smtp://127.0.0.1:${peer.port}` })

test('after half a minute without an answer it is a 502; the mail is settled all the same, and its key sends no second one', async () => {
  const project = await app.newProject()
  const { body: list } = await project.post('/lists', { name: 'Notes' })
  await project.events()
  const send = (to: string, key?: string) =>
    project.request('POST', '/emails', {
      body: JSON.stringify({ from: list.mailbox_address, to, subject: 'x', text: 'x' }),
      headers: { 'content-type': 'application/json', ...(key ? { 'idempotency-key': key } : {}) },
    })
  const answers = await Promise.all([send('taken@example.org', 'a'), send('refused@example.org', 'b'), send('keyless@example.org')])
  const ids = answers.map(({ status, body }) => {
    assert.deepEqual([status, body.error.code], [502, 'provider_error'])
    assert.match(body.error.message, /has not answered within 30 s.*may still take this mail: GET \/emails\/(eml_\w+) tells/)
    return /eml_\w+/.exec(body.error.message)?.[0] as string
  })
  const statuses = () => Promise.all(ids.map(async (id) => (await project.get(`/emails/${id}`)).body.status))
  assert.deepEqual(await statuses(), ['sending', 'sending', 'sending'])
  assert.deepEqual([peer.messages.length, await project.events()], [0, []])
  assert.equal((await project.get('/usage')).body.emails_sent, 3, 'what is open is booked')

  const [taken, refused] = await Promise.all([send('taken@example.org', 'a'), send('refused@example.org', 'b')])
  assert.deepEqual([taken.status, taken.body.id], [200, ids[0]])
  assert.deepEqual([refused.status, refused.body.id], [201, ids[1]])
  await until('all to be settled', async () => (await statuses()).every((status) => status !== 'sending'))
  assert.deepEqual(peer.messages.map(({ to }) => to[0]).sort(), ['keyless@example.org', 'refused@example.org', 'taken@example.org'])
  assert.equal((await project.get('/usage')).body.emails_sent, 3)
  const sent = (await project.events()).filter((type) => type === 'email.sent')
  assert.equal(sent.length, 3)
})
