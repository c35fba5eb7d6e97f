import assert from 'node:assert/strict'
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { test } from 'node:test'
import { dkimSelector, generateDkimKey } from './keys.ts'
import { signInPool } from './sign-in-pool.ts'
import { createSigningThreads } from './signing-threads.ts'

const now = new Date('2026-11-15T10:00:00Z')
const rsa = (await generateDkimKey('rsa-sha256', dkimSelector('rsa-sha256', now))).private_key
const ed25519 = (await generateDkimKey('ed25519-sha256', dkimSelector('ed25519-sha256', now))).private_key

test('many at once, by two keys, of bytes of all kinds: each gets the signature of its own text', async () => {
  const sign = createSigningThreads()
  const texts = Array.from({ length: 200 }, (_, number) => `subject:${number} \xe9\xff\0`)
  const signatures = await Promise.all(
    texts.map((text, number) => (number % 2 ? sign('rsa-sha256', text, rsa) : sign('ed25519-sha256', text, ed25519))),
  )
  // Both algorithms are deterministic.
  assert.equal(signatures[1], await signInPool('rsa-sha256', texts[1] as string, rsa))
  assert.equal(signatures[2], await signInPool('ed25519-sha256', texts[2] as string, ed25519))
  for (const [number, signature] of signatures.entries()) {
    const data = Buffer.from(texts[number] as string, 'latin1')
    const isRight =
      number % 2
        ? verify('sha256', data, createPublicKey(rsa), Buffer.from(signature, 'base64'))
        : verify(null, createHash('sha256').update(data).digest(), createPublicKey(ed25519), Buffer.from(signature, 'base64'))
    assert.ok(isRight, `signature ${number}`)
  }
})

test('a key that cannot sign so fails for its own text alone, although its thread dies of it', async () => {
  const sign = createSigningThreads()
  const [good, bad, other] = await Promise.allSettled([
    sign('rsa-sha256', 'a', rsa),
    sign('rsa-sha256', 'b', ed25519),
    sign('ed25519-sha256', 'c', ed25519),
  ])
  assert.equal(bad.status, 'rejected')
  assert.deepEqual(
    [good, other],
    [
      { status: 'fulfilled', value: await signInPool('rsa-sha256', 'a', rsa) },
      { status: 'fulfilled', value: await signInPool('ed25519-sha256', 'c', ed25519) },
    ],
  )
  assert.equal(await sign('rsa-sha256', 'd', rsa), await signInPool('rsa-sha256', 'd', rsa), 'and the next one has a new thread')
})

test('more keys than a thread remembers', async () => {
  const sign = createSigningThreads()
  const keys = Array.from({ length: 250 }, () => generateKeyPairSync('ed25519').privateKey)
  for (const key of [...keys, ...keys.slice(0, 5)])
    assert.equal(await sign('ed25519-sha256', 'x', key), await signInPool('ed25519-sha256', 'x', key))
})
