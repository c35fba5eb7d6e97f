import { Agent, request } from 'node:https'
import { getCACertificates } from 'node:tls'
import { reasonOf } from '../base/errors.ts'
import { AcmeProblem } from './problem.ts'

export interface Exchange {
  url: string
  method: 'GET' | 'HEAD' | 'POST'
  body?: string
}

export interface ExchangeAnswer {
  status: number
  header(name: string): string | undefined
  text: string
}

export interface Exchanges {
  exchange(order: Exchange): Promise<ExchangeAnswer>
  /** Ends what is under way. */
  close(): void
}

/** A chain of certificates has some thousand bytes; everything else is less. */
const maxBytes = 256 * 1024
const timeoutMs = 30_000

/** Requests to the authority that the operator has named, and nobody else: hence without the guard. `ca` is trusted beside the usual roots. */
export function createExchanges({ ca, userAgent }: { ca: string | null; userAgent: string }): Exchanges {
  const agent = new Agent({ keepAlive: true, maxSockets: 8, ...(ca === null ? {} : { ca: [...getCACertificates('default'), ca] }) })
  const stopping = new AbortController()
  return {
    async exchange({ url, method, body }) {
      const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)])
      const headers = { 'User-Agent': userAgent, ...(body === undefined ? {} : bodyHeaders(body)) }
      try {
        return await answerTo(request(url, { method, agent, signal, headers }), body)
      } catch (error) {
        if (error instanceof AcmeProblem) throw error
        const why = signal.aborted && !stopping.signal.aborted ? `it did not answer within ${timeoutMs / 1_000} seconds` : reasonOf(error)
        throw new AcmeProblem('unreachable', `${new URL(url).host} could not be reached: ${why}`, { cause: error })
      }
    },
    close() {
      stopping.abort()
      agent.destroy()
    },
  }
}

/** RFC 8555 section 6.2. */
const bodyHeaders = (body: string) => ({ 'Content-Type': 'application/jose+json', 'Content-Length': Buffer.byteLength(body) })

function answerTo(asked: ReturnType<typeof request>, body: string | undefined): Promise<ExchangeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ExchangeAnswer>()
  asked.on('error', reject)
  asked.on('response', async (response) => {
    try {
      const chunks: Buffer[] = []
      let length = 0
      for await (const chunk of response as AsyncIterable<Buffer>) {
        chunks.push(chunk)
        length += chunk.length
        if (length > maxBytes) throw new AcmeProblem('malformedAnswer', `${asked.host} answered with more than ${maxBytes} bytes`)
      }
      const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value)
      resolve({
        status: response.statusCode ?? 0,
        header: (name) => one(response.headers[name]),
        text: Buffer.concat(chunks).toString('utf8'),
      })
    } catch (error) {
      reject(error)
    }
  })
  asked.end(body)
  return promise
}
