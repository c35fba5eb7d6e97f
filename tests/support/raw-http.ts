import { once } from 'node:events'
import { connect } from 'node:net'

export interface RawAnswer {
  status: number
  /** Names in lower case. */
  headers: Record<string, string>
  body: string
}

/** Writes bytes that no HTTP client would, and reads the first answer: until its Content-Length is full, or the server hangs up. */
export async function sendRaw(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(bytes)
  let received = Buffer.alloc(0)
  try {
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer])
      const answer = parseAnswer(received)
      if (answer) return answer
    }
  } catch (error) {
    // A server that refuses half-way through our bytes resets the connection; what it said before still counts.
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET' && (error as NodeJS.ErrnoException).code !== 'EPIPE') throw error
  } finally {
    socket.destroy()
  }
  const answer = parseAnswer(received, true)
  if (!answer) throw new Error(`No HTTP answer came, only ${JSON.stringify(received.toString('latin1'))}`)
  return answer
}

function parseAnswer(received: Buffer, isAll = false): RawAnswer | null {
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return null
  const [first = '', ...lines] = received.toString('latin1', 0, end).split('\r\n')
  const headers = Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.replace(/^[^:]*: */, '')]))
  const body = received.subarray(end + 4)
  if (!isAll && body.length < Number(headers['content-length'] ?? 0)) return null
  return { status: Number(first.split(' ')[1]), headers, body: body.toString() }
}
