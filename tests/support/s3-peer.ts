import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface S3Peer {
  /** As BLOB_URL wants it. */
  url: string
  blobs: Map<string, Buffer>
  /** "PUT raw/a/b", in order. */
  asked: string[]
  /** Answers for the next requests, in place of its own; `drop` hangs up. */
  script: (number | 'drop')[]
  close(): Promise<void>
}

const login = { key: 'AKIDTEST', secret: 'se/cret+key', region: 'eu-test-1' }
const bucket = 'mail-bucket'

/** A store that keeps blobs in memory and refuses whatever is not signed as AWS Signature Version 4 asks. Lists two keys at a time. */
export async function startS3Peer(): Promise<S3Peer> {
  const peer: S3Peer = { url: '', blobs: new Map(), asked: [], script: [], close: async () => {} }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const answer = answerTo(peer, request, Buffer.concat(chunks))
    if (answer === 'drop') request.socket.destroy()
    else response.writeHead(answer.status).end(answer.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  peer.url = `s3+http://${login.key}:${encodeURIComponent(login.secret)}@127.0.0.1:${port}/${bucket}?region=${login.region}`
  peer.close = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  return peer
}

function answerTo(peer: S3Peer, request: IncomingMessage, body: Buffer): Answer | 'drop' {
  const url = new URL(request.url as string, 'http://peer')
  const key = url.pathname.slice(`/${bucket}/`.length)
  peer.asked.push(`${request.method} ${key}${url.search}`)
  const scripted = peer.script.shift()
  if (scripted !== undefined) return scripted === 'drop' ? scripted : refusal(scripted, 'SlowDown')
  const problem = problemWith(request, body, url)
  if (problem) return refusal(403, problem)
  if (!url.pathname.startsWith(`/${bucket}/`)) return refusal(404, 'NoSuchBucket')
  if (request.method === 'PUT') peer.blobs.set(key, body)
  if (request.method === 'DELETE') peer.blobs.delete(key)
  if (request.method !== 'GET') return { status: request.method === 'DELETE' ? 204 : 200, body: '' }
  if (key === '') return { status: 200, body: listing(peer, url.searchParams.get('prefix') as string) }
  const found = peer.blobs.get(key)
  return found ? { status: 200, body: found } : refusal(404, 'NoSuchKey')
}

interface Answer {
  status: number
  body: string | Buffer
}

const refusal = (status: number, code: string): Answer => ({ status, body: `<Error><Code>${code}</Code></Error>` })

const listing = ({ blobs }: S3Peer, prefix: string): string =>
  `<ListBucketResult>${[...blobs.keys()]
    .filter((key) => key.startsWith(prefix))
    .slice(0, 2)
    .map((key) => `<Contents><Key>${key}</Key></Contents>`)
    .join('')}</ListBucketResult>`

/** Puts the request together once more from what arrived: https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
function problemWith(request: IncomingMessage, body: Buffer, url: URL): string | null {
  const header = (name: string) => String(request.headers[name] ?? '')
  const [, credential = '', names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=([\da-f]{64})$/.exec(header('authorization')) ?? []
  const bodyHash = createHash('sha256').update(body).digest('hex')
  if (bodyHash !== header('x-amz-content-sha256')) return 'XAmzContentSHA256Mismatch'
  const date = header('x-amz-date')
  if (Math.abs(Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z')) - Date.now()) > 900_000)
    return 'RequestTimeTooSkewed'
  const scope = `${date.slice(0, 8)}/${login.region}/s3/aws4_request`
  if (credential !== `${login.key}/${scope}`) return 'InvalidAccessKeyId'
  const query = url.search
    .slice(1)
    .split('&')
    .sort()
    .join('&')
    .replace(/%2f|\//gi, '%2F')
  const headers = names
    .split(';')
    .map((name) => `${name}:${header(name)}\n`)
    .join('')
  const canonical = `${request.method}\n${url.pathname}\n${query}\n${headers}\n${names}\n${bodyHash}`
  const toSign = `AWS4-HMAC-SHA256\n${date}\n${scope}\n${createHash('sha256').update(canonical).digest('hex')}`
  const sign = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const key = sign(sign(sign(sign(`AWS4${login.secret}`, date.slice(0, 8)), login.region), 's3'), 'aws4_request')
  return sign(key, toSign).toString('hex') === signature ? null : 'SignatureDoesNotMatch'
}
