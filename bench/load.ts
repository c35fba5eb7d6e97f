import { connect, type Socket } from 'node:net'
import { median, percentile } from './support.ts'

export interface Load {
  rate: number
  p50: number
  p99: number
}

interface LoadOptions {
  port: number
  connections: number
  seconds: number
  /** The n-th request, whole, as it goes on the wire. */
  request(n: number): string
  /** Anything else than this status stops the run. */
  status: number
}

/**
 * Keeps a number of connections busy, one request at a time on each. Spoken on bare sockets: on two cores an ordinary HTTP client would
 * take more of the machine than what it measures.
 */
export async function load({ port, connections, seconds, request, status }: LoadOptions): Promise<Load> {
  const latencies: number[] = []
  const end = performance.now() + seconds * 1000
  let sent = 0
  const began = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(port, '127.0.0.1')
      const answers = readAnswers(socket)
      while (performance.now() < end) {
        const at = performance.now()
        socket.write(request(sent++))
        const answered = await answers.next()
        if (answered !== status) throw new Error(`Expected ${status}, got ${answered}`)
        latencies.push(performance.now() - at)
      }
      socket.destroy()
    }),
  )
  return { rate: latencies.length / ((performance.now() - began) / 1000), p50: median(latencies), p99: percentile(latencies, 0.99) }
}

/** Statuses of the answers, in turn. Every server here answers with a Content-Length. */
function readAnswers(socket: Socket) {
  let text = ''
  let waiting: ((status: number) => void) | null = null
  const look = () => {
    const headEnd = text.indexOf('\r\n\r\n')
    if (headEnd < 0 || !waiting) return
    const length = Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0)
    if (text.length < headEnd + 4 + length) return
    const status = Number(text.slice(9, 12))
    text = text.slice(headEnd + 4 + length)
    const answer = waiting
    waiting = null
    answer(status)
  }
  socket.setEncoding('latin1').on('data', (data) => {
    text += data
    look()
  })
  return {
    next: () =>
      new Promise<number>((resolve, reject) => {
        socket.once('error', reject)
        waiting = (status) => {
          socket.off('error', reject)
          resolve(status)
        }
        look()
      }),
  }
}

export const httpRequest = (method: string, path: string, headers: Record<string, string>, body = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${Object.entries({
    ...headers,
    ...(body ? { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) } : {}),
  })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n${body}`
