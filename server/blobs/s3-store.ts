import { setTimeout as sleep } from 'node:timers/promises'
import { reasonOf } from '../base/errors.ts'
import { checkKey, checkPrefix } from './blob-key.ts'
import type { BlobStore } from './blob-store.ts'
import { type S3Login, type S3Request, signRequest } from './s3-signature.ts'

/** Where BLOB_URL leads. The bucket stands in the path, which every S3-compatible store understands. */
export interface S3Place extends S3Login {
  /** `https://host/bucket/` */
  bucketUrl: string
}

interface S3Options {
  now?: () => Date
  timeoutMs?: number
  /** Before the second and the third try. */
  restsMs?: number[]
}

const removedAtOnce = 16

export function createS3Store(
  place: S3Place,
  { now = () => new Date(), timeoutMs = 60_000, restsMs = [200, 1_000] }: S3Options = {},
): BlobStore {
  const askOnce = async (request: S3Request): Promise<Response> => {
    const headers = signRequest(request, place, now())
    const body = request.method === 'PUT' ? new Uint8Array(request.body) : null
    return fetch(request.url, { method: request.method, headers, body, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
  }
  /** Every request here may be made twice: keys are never written with other bytes. */
  const ask = async (request: S3Request): Promise<Response> => {
    for (const restMs of [...restsMs, null]) {
      const answer = await askOnce(request).catch((error: unknown) => {
        if (restMs === null)
          throw new Error(`the blob store at ${request.url.host} cannot be reached: ${reasonOf(error)}`, { cause: error })
        return null
      })
      if (answer && (restMs === null || (answer.status < 500 && answer.status !== 429))) return answer
      await answer?.body?.cancel()
      await sleep(restMs ?? 0)
    }
    throw new Error('the last try has no rest after it')
  }
  const askFor = async (method: S3Request['method'], path: string, body: Buffer = Buffer.alloc(0)): Promise<Buffer | null> => {
    const answer = await ask({ method, url: new URL(path, place.bucketUrl), body })
    const said = Buffer.from(await answer.arrayBuffer())
    if (answer.ok) return said
    if (answer.status === 404 && codeIn(said) !== 'NoSuchBucket') return null
    throw new Error(`the blob store answered ${answer.status} (${codeIn(said)}) to ${method} ${path.slice(0, 100)}`)
  }
  const remove = async (keys: string[]) => {
    const paths = keys.map(checkKey)
    while (paths.length > 0) await Promise.all(paths.splice(0, removedAtOnce).map((path) => askFor('DELETE', path)))
  }
  return {
    async put(key, bytes) {
      if ((await askFor('PUT', checkKey(key), bytes)) === null) throw new Error('the blob store answered 404 to a PUT: is BLOB_URL right?')
    },
    get: (key) => askFor('GET', checkKey(key)),
    remove,
    async removeAll(prefix) {
      // What is removed is not listed again, so the first page is asked for until it is empty.
      const query = new URLSearchParams({ 'list-type': '2', prefix: checkPrefix(prefix) })
      for (;;) {
        const page = ((await askFor('GET', `?${query}`)) ?? Buffer.alloc(0)).toString('utf8')
        const keys = [...page.matchAll(/<Key>([^<]*)<\/Key>/g)].map((match) => match[1] as string)
        if (keys.length === 0) return
        await remove(keys)
      }
    },
  }
}

const codeIn = (xml: Buffer): string => /<Code>(\w{1,60})<\/Code>/.exec(xml.toString('utf8'))?.[1] ?? 'without a reason'
