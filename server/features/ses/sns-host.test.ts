import assert from 'node:assert/strict'
import { test } from 'node:test'
import { snsCertificate } from '../../../tests/support/sns-certificate.ts'
import { snsTopic } from '../../../tests/support/sns-peer.ts'
import { createSigningKeys, isCertificatePath, snsUrl } from './sns-host.ts'

const pem = '/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem'

test('SNS is where it is in the region of the topic, with TLS and on its own port', () => {
  assert.ok(snsUrl(`https://sns.eu-west-1.amazonaws.com${pem}`, snsTopic, null))
  assert.ok(snsUrl(`https://sns.eu-west-1.amazonaws.com:443${pem}`, snsTopic, null))
  assert.ok(snsUrl(`https://sns.cn-north-1.amazonaws.com.cn${pem}`, 'arn:aws-cn:sns:cn-north-1:123456789012:t', null))
  assert.ok(snsUrl(`https://sns.us-gov-west-1.amazonaws.com${pem}`, 'arn:aws-us-gov:sns:us-gov-west-1:123456789012:t', null))
  for (const wrong of [
    `http://sns.eu-west-1.amazonaws.com${pem}`,
    `https://sns.us-east-1.amazonaws.com${pem}`,
    `https://sns.eu-west-1.amazonaws.com.cn${pem}`,
    `https://sns.eu-west-1.amazonaws.com.evil.example${pem}`,
    `https://evil.example/sns.eu-west-1.amazonaws.com${pem}`,
    `https://sns.eu-west-1.amazonaws.com@evil.example${pem}`,
    `https://a:b@sns.eu-west-1.amazonaws.com${pem}`,
    `https://sns.eu-west-1.amazonaws.com:8443${pem}`,
    `https://s3.eu-west-1.amazonaws.com${pem}`,
    `//sns.eu-west-1.amazonaws.com${pem}`,
    pem,
    '',
  ])
    assert.equal(snsUrl(wrong, snsTopic, null), null, wrong)
})

test('where another host is set, it alone counts', () => {
  assert.ok(snsUrl(`https://localhost:8443${pem}`, snsTopic, 'localhost:8443'))
  for (const wrong of [`https://localhost${pem}`, `http://localhost:8443${pem}`, `https://sns.eu-west-1.amazonaws.com${pem}`])
    assert.equal(snsUrl(wrong, snsTopic, 'localhost:8443'), null, wrong)
})

test('a certificate is a .pem at the root', () => {
  const is = (path: string) => isCertificatePath(new URL(path, 'https://sns.eu-west-1.amazonaws.com'))
  assert.ok(is(pem))
  for (const path of ['/', '/x', '/a/b.pem', '/a.pem?x', '/a.pem#x', '/a.pem/x', '/a%2fb.pem', '/.pem']) assert.equal(is(path), false, path)
})

test('keys are fetched once a day, failures not remembered, and certificates used only while they are valid', async () => {
  const url = new URL(`https://sns.eu-west-1.amazonaws.com${pem}`)
  let [asked, isDown, now] = [0, true, new Date()]
  const fetch = async () => {
    asked++
    if (isDown) throw new Error('no route')
    return new Response(snsCertificate)
  }
  const keyAt = createSigningKeys({ fetch, clock: { now: () => now } })
  await assert.rejects(keyAt(url), /could not be fetched/)
  isDown = false
  const [key] = await Promise.all([keyAt(url), keyAt(url)])
  assert.equal(key.asymmetricKeyType, 'rsa')
  assert.equal(asked, 2)
  for (const year of ['2020', '2127']) {
    now = new Date(`${year}-01-01T00:00:00Z`)
    await assert.rejects(keyAt(url), /not valid now/)
  }
})
