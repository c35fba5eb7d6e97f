import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'

/** A client that says exactly what a test wants it to, byte by byte. */
export interface SmtpClient {
  /** The whole of the next reply, its lines joined by LF; '' when the server has hung up instead. */
  reply(): Promise<string>
  /** Writes one line and answers with its reply. */
  say(line: string): Promise<string>
  /** Writes as it is, and waits for nothing. */
  write(bytes: string | Buffer): void
  /** EHLO, MAIL, RCPT and DATA; fails when one of them is refused. */
  beginMessage(to: string, from?: string): Promise<void>
  /** A whole message: the answer to its final dot. */
  send(to: string, text: string): Promise<string>
  /** The handshake that follows a STARTTLS. */
  startTls(): Promise<TLSSocket>
  isOpen(): boolean
  close(): void
}

interface Where {
  port: number
  /** A loopback address to come from, such as 127.0.0.2. */
  from?: string
  /** Sent before anything else. */
  proxyLine?: string
}

export async function connectSmtp({ port, from, proxyLine }: Where): Promise<SmtpClient> {
  let socket: Socket = connect({ port, host: '127.0.0.1', ...(from ? { localAddress: from } : {}) })
  let received = ''
  let isOver = false
  let roused = () => {}
  const attach = () => {
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      roused()
    })
    // A server that resets the connection has hung up all the same.
    socket.on('error', () => {})
    socket.on('close', () => {
      isOver = true
      roused()
    })
  }
  attach()
  const close = () => socket.destroy()
  after(close)
  await once(socket, 'connect')
  if (proxyLine) socket.write(`${proxyLine}\r\n`)

  const takeReply = (): string | null => {
    const [whole] = /^(?:\d{3}-.*\r\n)*\d{3}(?: .*)?\r\n/.exec(received) ?? []
    if (whole === undefined) return null
    received = received.slice(whole.length)
    return whole.trimEnd().replaceAll('\r\n', '\n')
  }
  const reply = async () => {
    for (;;) {
      const taken = takeReply()
      if (taken !== null || isOver) return taken ?? ''
      await new Promise<void>((resolve) => {
        roused = resolve
      })
    }
  }
  const say = (line: string) => {
    socket.write(`${line}\r\n`)
    return reply()
  }
  const expect = async (code: string, line: string) => {
    const answer = await say(line)
    if (!answer.startsWith(code)) throw new Error(`${line}: ${answer}`)
  }
  const client: SmtpClient = {
    reply,
    say,
    write: (bytes) => socket.write(bytes),
    async beginMessage(to, sender = 'ann@example.com') {
      await expect('250', 'EHLO client.test')
      await expect('250', `MAIL FROM:<${sender}>`)
      await expect('250', `RCPT TO:<${to}>`)
      await expect('354', 'DATA')
    },
    async send(to, text) {
      await client.beginMessage(to)
      return say(`${text}\r\n.`)
    },
    async startTls() {
      socket.removeAllListeners('data')
      const secured = connectTls({ socket, rejectUnauthorized: false, servername: 'posthaste.test' })
      await once(secured, 'secureConnect')
      socket = secured
      attach()
      return secured
    },
    isOpen: () => !isOver,
    close,
  }
  return client
}

/** Connected, and greeted. */
export async function greetedSmtp(where: Where): Promise<SmtpClient> {
  const client = await connectSmtp(where)
  const greeting = await client.reply()
  if (!greeting.startsWith('220')) throw new Error(`not greeted: ${greeting}`)
  return client
}
