import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { newId } from '../../base/ids.ts'
import { createSecrets } from '../../base/secrets.ts'
import { headersOf, openSecrets, sealSecret } from './sign-delivery.ts'
import { makeWebhookSecret, maskSecret } from './webhook.ts'

const now = new Date()
const later = (ms: number) => new Date(now.getTime() + ms)
const body = '{"id":"evt_1","type":"post.sent","data":{"subject":"Grüße, 世界 🎉"}}'
const about = { delivery_id: newId<'whd'>(), event_id: newId<'evt'>(), type: 'post.sent', now }
const [secret, older] = [makeWebhookSecret(), makeWebhookSecret()]

/** The outside judge: throws unless the signature holds. */
const verify = (key: string, headers: Record<string, string>, text = body) => new Webhook(key).verify(text, headers)

test('a delivery is signed in both dialects', () => {
  const headers = headersOf({ ...about, body, signing: { secret, previous: null } })
  assert.deepEqual(Object.keys(headers).sort(), [
    'Content-Type',
    'User-Agent',
    'X-Service-Delivery-Id',
    'X-Service-Event',
    'X-Service-Signature',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
  ])
  assert.equal(headers['X-Service-Event'], 'post.sent')
  assert.match(headers['X-Service-Delivery-Id'] ?? '', /^whd_[0-9a-z]{26}$/)
  assert.match(headers['webhook-id'] ?? '', /^evt_[0-9a-z]{26}$/)
  assert.equal(headers['webhook-timestamp'], String(Math.floor(now.getTime() / 1000)))
  assert.equal(headers['X-Service-Signature'], createHmac('sha256', secret).update(body).digest('hex'))
  assert.match(headers['X-Service-Signature'] ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual(verify(secret, headers), JSON.parse(body))
})

test('text and bytes are signed alike', () => {
  const signing = { secret, previous: null }
  assert.deepEqual(headersOf({ ...about, body, signing }), headersOf({ ...about, body: Buffer.from(body), signing }))
})

test('another body, id, time or secret is refused by the outside judge', () => {
  const headers = headersOf({ ...about, body, signing: { secret, previous: null } })
  const seconds = Number(headers['webhook-timestamp'])
  assert.throws(() => verify(secret, headers, body.replace('post.sent', 'post.seen')), /No matching signature/)
  assert.throws(() => verify(secret, { ...headers, 'webhook-id': 'evt_other' }), /No matching signature/)
  assert.throws(() => verify(secret, { ...headers, 'webhook-timestamp': String(seconds - 1) }), /No matching signature/)
  assert.throws(() => verify(older, headers), /No matching signature/)
})

test('after a rotation both secrets verify until the old one’s time is over', () => {
  const signing = { secret, previous: { secret: older, until: later(1_000) } }
  const both = headersOf({ ...about, body, signing })
  assert.equal(both['webhook-signature']?.split(' ').length, 2)
  verify(secret, both)
  verify(older, both)
  assert.equal(both['X-Service-Signature'], createHmac('sha256', secret).update(body).digest('hex'))
  const one = headersOf({ ...about, body, signing, now: later(1_000) })
  assert.equal(one['webhook-signature']?.split(' ').length, 1)
  verify(secret, one)
  assert.throws(() => verify(older, one), /No matching signature/)
})

test('a secret is whsec_ and 32 bytes in base64, sealed for one webhook, masked but for four characters', () => {
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.notEqual(secret, older)
  assert.equal(maskSecret(secret), `whsec_…${secret.slice(-4)}`)
  const secrets = createSecrets('a key for tests, long enough to be taken')
  const [id, other] = [newId<'whk'>(), newId<'whk'>()]
  const sealed = sealSecret(secrets, id, secret)
  assert.ok(!sealed.includes(secret.slice(6)))
  assert.deepEqual(openSecrets(secrets, { id, secret: sealed, previous_secret: null, previous_until: null }), { secret, previous: null })
  assert.throws(() => openSecrets(secrets, { id: other, secret: sealed, previous_secret: null, previous_until: null }))
})
