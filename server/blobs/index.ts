import { join } from 'node:path'
import { ConfigError } from '../base/config.ts'
import type { BlobStore } from './blob-store.ts'
import { createFolderStore } from './folder-store.ts'
import { createS3Store, type S3Place } from './s3-store.ts'

/** The store that BLOB_URL names, or a folder beside the other data. */
export const createBlobStore = (blobUrl: string | null, dataDir: string): BlobStore =>
  blobUrl === null ? createFolderStore(join(dataDir, 'blobs')) : createS3Store(parseBlobUrl(blobUrl))

const expected = 's3://key:secret@host/bucket?region=eu-central-1 (s3+http:// without TLS) is expected'
const escapes = 'write special characters of key and secret as percent escapes (/ is %2F, + is %2B)'

/** Throws one line that names BLOB_URL and never repeats the secret. */
export function parseBlobUrl(text: string): S3Place {
  const [, plain] = /^s3(\+http)?:\/\//i.exec(text) ?? []
  const url = URL.parse(text.replace(/^s3(?:\+http)?:/i, plain ? 'http:' : 'https:'))
  if (!/^s3(?:\+http)?:\/\//i.test(text) || !url) throw new ConfigError(`BLOB_URL is no address of a store: ${expected}; ${escapes}`)
  const bucket = url.pathname.replaceAll('/', '')
  if (!/^\/[a-z\d][a-z\d.-]{1,61}[a-z\d]\/?$/.test(url.pathname)) throw new ConfigError(`BLOB_URL names no bucket: ${expected}`)
  if (url.username === '' || url.password === '') throw new ConfigError(`BLOB_URL has no key and secret: ${expected}; ${escapes}`)
  const other = [...url.searchParams.keys()].find((name) => name !== 'region')
  if (other !== undefined) throw new ConfigError(`BLOB_URL has something other than region behind the question mark; ${escapes}`)
  const region = url.searchParams.get('region') || 'us-east-1'
  if (!/^[a-z\d-]+$/.test(region)) throw new ConfigError(`BLOB_URL has a region that is none: ${expected}`)
  return { bucketUrl: `${url.protocol}//${url.host}/${bucket}/`, key: decode(url.username), secret: decode(url.password), region }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ConfigError('BLOB_URL has a percent sign that begins no escape; a percent sign itself is %25')
  }
}
