import { createHash, createHmac } from 'node:crypto'

export interface S3Login {
  key: string
  secret: string
  region: string
}

export interface S3Request {
  method: 'GET' | 'PUT' | 'DELETE'
  /** With its query, whose names stand in alphabetical order. */
  url: URL
  body: Buffer
}

/** The headers that prove who asks: AWS Signature Version 4, the whole request in one piece. */
export function signRequest({ method, url, body }: S3Request, { key, secret, region }: S3Login, now: Date): Record<string, string> {
  const time = `${now.toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`
  const headers = { host: url.host, 'x-amz-content-sha256': hashOf(body), 'x-amz-date': time }
  const names = Object.keys(headers).join(';')
  const canonical = [
    method,
    url.pathname,
    canonicalQuery(url.searchParams),
    ...Object.entries(headers).map(([name, value]) => `${name}:${value}`),
    '',
    names,
    headers['x-amz-content-sha256'],
  ].join('\n')
  const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hashOf(canonical)}`
  const signingKey = scope.split('/').reduce<Buffer | string>((previous, part) => hmac(previous, part), `AWS4${secret}`)
  const signature = hmac(signingKey, toSign).toString('hex')
  const { host: _, ...sent } = headers // fetch writes that one itself, from the address
  return { ...sent, authorization: `AWS4-HMAC-SHA256 Credential=${key}/${scope}, SignedHeaders=${names}, Signature=${signature}` }
}

const hashOf = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest()

/** Percent escapes for all but letters, digits and -._~, as Amazon has it; a URL leaves a few more as they are. */
const percentEscaped = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)

const canonicalQuery = (query: URLSearchParams) =>
  [...query].map(([name, value]) => `${percentEscaped(name)}=${percentEscaped(value)}`).join('&')
