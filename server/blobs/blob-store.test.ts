import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startS3Peer } from '../../tests/support/s3-peer.ts'
import { type BlobStore, projectPrefix, rawKey } from './blob-store.ts'
import { createFolderStore } from './folder-store.ts'
import { createBlobStore, parseBlobUrl } from './index.ts'
import { signRequest } from './s3-signature.ts'
import { createS3Store } from './s3-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'posthaste-blobs-'))
const peer = await startS3Peer()
after(async () => {
  rmSync(folder, { recursive: true, force: true })
  await peer.close()
})

const quick = { restsMs: [1, 1], timeoutMs: 2_000 }
const stores: Record<string, BlobStore> = {
  folder: createBlobStore(null, folder),
  s3: createS3Store(parseBlobUrl(peer.url), quick),
}

for (const [name, store] of Object.entries(stores)) {
  test(`${name}: what is put is got back byte by byte, until it is removed`, async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 256))
    await store.put('raw/p1/m1', bytes)
    await store.put('raw/p1/m1', bytes)
    await store.put('raw/p1/m2', Buffer.alloc(0))
    assert.deepEqual(await store.get('raw/p1/m1'), bytes)
    assert.deepEqual(await store.get('raw/p1/m2'), Buffer.alloc(0))
    assert.equal(await store.get('raw/p1/m3'), null)
    assert.equal(await store.get('raw/p2/m1'), null)
    await store.remove(['raw/p1/m1', 'raw/p1/never'])
    assert.equal(await store.get('raw/p1/m1'), null)
    assert.deepEqual(await store.get('raw/p1/m2'), Buffer.alloc(0))
  })

  test(`${name}: all of a project is removed, and nothing of another`, async () => {
    const keys = Array.from({ length: 7 }, (_, number) => rawKey('gone', `message-${number}`))
    for (const key of [...keys, rawKey('gone-not', 'message-1')]) await store.put(key, Buffer.from(key))
    await store.removeAll(projectPrefix('gone'))
    await store.removeAll(projectPrefix('never-was'))
    for (const key of keys) assert.equal(await store.get(key), null)
    assert.deepEqual(await store.get(rawKey('gone-not', 'message-1')), Buffer.from('raw/gone-not/message-1'))
  })

  test(`${name}: a key that is none leads nowhere`, async () => {
    const bad = [
      '',
      'raw',
      '/etc/passwd',
      'raw/../x',
      'raw//x',
      'raw/a/..',
      'raw/a/b?x',
      'raw/A/b',
      'raw/a/b/',
      `raw/${'a'.repeat(65)}`,
      'raw/a%2fb',
    ]
    for (const key of bad) {
      await assert.rejects(async () => store.put(key, Buffer.from('x')), /is no key of the blob store/)
      await assert.rejects(async () => store.get(key), /is no key/)
      await assert.rejects(async () => store.remove([key]), /is no key/)
    }
    for (const prefix of ['', '/', 'raw/', 'raw', 'raw/a', '../raw/', 'raw/../'])
      await assert.rejects(async () => store.removeAll(prefix), /is no prefix/)
  })
}

test('a folder spreads its files, keeps them to itself and leaves nothing half written', async () => {
  const store = createFolderStore(join(folder, 'spread'))
  await Promise.all(Array.from({ length: 40 }, (_, number) => store.put(`raw/p/01a1d${number % 2}-message-${number}`, Buffer.from('x'))))
  assert.deepEqual(readdirSync(join(folder, 'spread/raw/p')).sort(), ['01a1d0', '01a1d1'])
  const files = readdirSync(join(folder, 'spread/raw/p/01a1d1'))
  assert.deepEqual(files.sort(), Array.from({ length: 20 }, (_, number) => `01a1d1-message-${2 * number + 1}`).sort())
  assert.equal(statSync(join(folder, 'spread/raw/p/01a1d1/01a1d1-message-7')).mode & 0o077, 0)

  writeFileSync(join(folder, 'blocked'), 'a file where a folder is wanted')
  await assert.rejects(createFolderStore(join(folder, 'blocked')).put('raw/p/m', Buffer.from('x')), /ENOTDIR|EEXIST/)
})

test('a request is signed as Amazon’s own example is', () => {
  const login = { key: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', region: 'us-east-1' }
  const url = new URL('https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J')
  const headers = signRequest({ method: 'GET', url, body: Buffer.alloc(0) }, login, new Date('2013-05-24T00:00:00Z'))
  assert.match(headers.authorization as string, /Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7$/)
  assert.equal(headers['x-amz-date'], '20130524T000000Z')
})

test('a store that stumbles is asked again, and one that refuses is not', async () => {
  const store = stores.s3 as BlobStore
  peer.asked.length = 0
  peer.script = [503, 'drop']
  await store.put('raw/p/again', Buffer.from('x'))
  assert.deepEqual(peer.asked, ['PUT raw/p/again', 'PUT raw/p/again', 'PUT raw/p/again'])

  peer.script = [500, 500, 500]
  await assert.rejects(store.put('raw/p/never', Buffer.from('x')), /^Error: the blob store answered 500 \(SlowDown\) to PUT raw\/p\/never$/)
  peer.script = ['drop', 'drop', 'drop']
  await assert.rejects(store.get('raw/p/never'), /the blob store at 127\.0\.0\.1:\d+ cannot be reached/)

  peer.asked.length = 0
  const stranger = createS3Store({ ...parseBlobUrl(peer.url), secret: 'wrong' }, quick)
  await assert.rejects(stranger.put('raw/p/x', Buffer.from('x')), /answered 403 \(SignatureDoesNotMatch\)/)
  const elsewhere = createS3Store(parseBlobUrl(peer.url.replace('mail-bucket', 'other-bucket')), quick)
  await assert.rejects(elsewhere.get('raw/p/x'), /answered 404 \(NoSuchBucket\)/)
  assert.equal(peer.asked.length, 2)
})

test('BLOB_URL is read, and what is wrong with it is said in one line without the secret', () => {
  assert.deepEqual(parseBlobUrl('s3://AK:s%2Fe%2Bc@s3.eu-central-1.amazonaws.com/my-bucket?region=eu-central-1'), {
    bucketUrl: 'https://s3.eu-central-1.amazonaws.com/my-bucket/',
    key: 'AK',
    secret: 's/e+c',
    region: 'eu-central-1',
  })
  assert.equal(parseBlobUrl('s3+http://a:b@minio:9000/bucket/').bucketUrl, 'http://minio:9000/bucket/')
  assert.equal(parseBlobUrl('s3://a:b@host/bucket').region, 'us-east-1')
  const bad = {
    'https://a:hushhush@host/bucket': /no address of a store/,
    's3://': /no address of a store/,
    's3://host/bucket': /no key and secret/,
    's3://a@host/bucket': /no key and secret/,
    's3://a:hushhush@host/': /names no bucket/,
    's3://a:hushhush@host/b/c/d': /names no bucket/,
    's3://a:hushhush@host/bucket?regoin=x': /other than region/,
    's3://a:hushhush@host/bucket?region=a b': /region that is none/,
    's3://a:%hushhush@host/bucket': /percent sign/,
  }
  for (const [url, words] of Object.entries(bad))
    assert.throws(
      () => parseBlobUrl(url),
      (error: Error) => words.test(error.message) && error.message.startsWith('BLOB_URL ') && !error.message.includes('hushhush'),
      url,
    )
})
