import { type Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as secureRequest } from 'node:https'
import { isIP } from 'node:net'
import { FetchFailed } from './fetch-error.ts'
import { hostOf } from './public-url.ts'

export interface Exchange {
  method: string
  headers: Record<string, string>
  body: string | Buffer | undefined
  maxBytes: number
  signal: AbortSignal
  agent: Agent
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  truncated: boolean
}

const maxHeaderBytes = 16 * 1024
/** RFC 9110 section 15.2: answers before the answer. Each is short, and nobody needs many. */
const mostInterim = 8

/** The other end had closed a kept connection before it could see the request. */
class StaleConnection extends Error {}
export const isStale = (error: unknown): boolean => error instanceof StaleConnection

/** One request and its answer, with whatever status. Throws what Node throws, or FetchFailed. */
export async function exchange(url: URL, order: Exchange): Promise<Answer> {
  order.signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const asked = begin(url, order)
  const host = hostOf(url)
  let response: IncomingMessage | null = null
  let interim = 0
  asked.on('information', () => {
    if (++interim > mostInterim) asked.destroy(new FetchFailed('protocol', `${host} announces an answer over and over, and gives none`))
  })
  asked.on('upgrade', (_response, socket) => {
    socket.destroy()
    reject(new FetchFailed('protocol', `${host} answered with another protocol`))
  })
  asked.on('error', (error) => reject(asked.reusedSocket && !response && isReset(error) ? new StaleConnection() : error))
  asked.on('close', () => {
    if (!response) reject(new FetchFailed('connection', `${host} closed the connection without an answer`))
  })
  asked.on('response', (come) => {
    response = come
    resolve(read(come, order.maxBytes))
  })
  asked.end(order.body)
  try {
    const answer = await promise
    // One that came before the request was taken, or of which we want no more, leaves a connection that nothing else can go over.
    if (answer.truncated || !asked.writableFinished) asked.destroy()
    return answer
  } catch (error) {
    asked.destroy()
    throw error
  }
}

function begin(url: URL, { method, headers, agent, signal, body }: Exchange): ClientRequest {
  const host = hostOf(url)
  const isSecure = url.protocol === 'https:'
  const length = Buffer.byteLength(body ?? '')
  return (isSecure ? secureRequest : plainRequest)({
    host,
    port: url.port === '' ? (isSecure ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    method,
    agent,
    signal,
    servername: isIP(host) ? '' : host,
    maxHeaderSize: maxHeaderBytes,
    // Ours come last and win. Nothing is unpacked here, so nothing packed is asked for.
    headers: {
      ...headers,
      ...(method === 'GET' ? {} : { 'Content-Length': length }),
      'Accept-Encoding': 'identity',
      Host: url.host.replace(/\.(?=:|$)/, ''),
    },
  })
}

const isReset = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE'

/** At most `maxBytes` of the body. */
async function read(response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const { statusCode: status = 0, headers } = response
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > maxBytes) break
  }
  const whole = Buffer.concat(chunks)
  return { status, headers, body: whole.subarray(0, maxBytes), truncated: length > maxBytes }
}
