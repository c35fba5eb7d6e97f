import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/**
 * What happens to the next message, in place of success: an error of Amazon's by its name; `hang` never answers; `drop` takes the
 * message and loses the answer; `rubbish` answers 200 with something that is not SES; `empty` with JSON that names no message; a
 * number is a status with a page in it, as of a gateway in between; a wait in ms comes before success.
 */
export type SesTurn =
  | { error: string; message?: string; status?: number }
  | 'hang'
  | 'drop'
  | 'rubbish'
  | 'empty'
  | number
  | { waitMs: number }

export interface SesMessage {
  to: string[]
  raw: string
  tags: Record<string, string>
  configuration_set: string | null
}

export interface SesPeer {
  url: string
  /** Taken over, in order. */
  messages: SesMessage[]
  /** `POST /v2/email/outbound-emails`, in order. */
  asked: string[]
  connections: number
  /** How many requests were being answered at once, at most. */
  mostAtOnce: number
  /** What GET /v2/email/account says, or the error in its place. */
  account: Record<string, unknown> | SesTurn
  next(...turns: SesTurn[]): void
  close(): Promise<void>
}

export const sesKey = { id: 'AKIATEST', secret: 'se/cret+of=tests' }
/** The peer as OUTBOUND names it. */
export const sesOutbound = ({ url }: Pick<SesPeer, 'url'>, more = '', { id, secret } = sesKey): string =>
  `ses://${encodeURIComponent(id)}:${encodeURIComponent(secret)}@eu-west-1?endpoint=${encodeURIComponent(url)}${more}`

const goodAccount = {
  SendingEnabled: true,
  ProductionAccessEnabled: true,
  EnforcementStatus: 'HEALTHY',
  SendQuota: { Max24HourSend: 50_000, MaxSendRate: 1_000, SentLast24Hours: 0 },
}

/** Behaves like the API of Amazon SES as far as we speak to it, signatures included. */
export async function startSesPeer(): Promise<SesPeer> {
  const turns: SesTurn[] = []
  let atOnce = 0
  const server = createServer(async (request, response) => {
    peer.mostAtOnce = Math.max(peer.mostAtOnce, ++atOnce)
    response.once('close', () => atOnce--)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    peer.asked.push(`${request.method} ${request.url}`)
    if (!isSigned(request, body))
      return fail(response, { error: 'InvalidSignatureException', message: 'The signature does not match', status: 403 })
    const isAccount = request.url === '/v2/email/account'
    const turn = isAccount ? peer.account : (turns.shift() ?? goodAccount)
    const sent = isAccount ? null : toMessage(body)
    if (isScripted(turn)) return answerTurn(turn, { response, take: () => sent && peer.messages.push(sent) })
    if (sent) peer.messages.push(sent)
    reply(response, 200, isAccount ? turn : { MessageId: `ses-${peer.messages.length}` })
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => {
    peer.connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const peer: SesPeer = {
    url: '',
    messages: [],
    asked: [],
    connections: 0,
    mostAtOnce: 0,
    account: goodAccount,
    next: (...wanted) => turns.push(...wanted),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  peer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return peer
}

const isScripted = (turn: SesPeer['account']): turn is SesTurn => typeof turn !== 'object' || 'error' in turn || 'waitMs' in turn

function answerTurn(turn: SesTurn, { response, take }: { response: ServerResponse; take(): unknown }): void {
  if (turn === 'hang') return
  if (turn === 'drop') {
    take()
    response.socket?.destroy()
  } else if (turn === 'rubbish') response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome to this hotel</h1>')
  else if (turn === 'empty') reply(response, 200, {})
  else if (typeof turn === 'number') response.writeHead(turn, { 'content-type': 'text/html' }).end('<h1>No</h1>')
  else if ('waitMs' in turn) {
    setTimeout(() => {
      take()
      reply(response, 200, { MessageId: 'ses-late' })
    }, turn.waitMs)
  } else fail(response, turn)
}

function fail(
  response: ServerResponse,
  { error, message = error, status = 400 }: { error: string; message?: string; status?: number },
): void {
  response.setHeader('x-amzn-errortype', error)
  reply(response, status, { message })
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function toMessage(body: Buffer): SesMessage {
  const { Content, Destination, EmailTags = [], ConfigurationSetName = null } = JSON.parse(body.toString())
  return {
    to: Destination.ToAddresses,
    raw: Buffer.from(Content.Raw.Data, 'base64').toString(),
    tags: Object.fromEntries(EmailTags.map(({ Name, Value }: { Name: string; Value: string }) => [Name, Value])),
    configuration_set: ConfigurationSetName,
  }
}

/** AWS Signature Version 4, computed anew. */
function isSigned({ method = '', url = '', headers }: IncomingMessage, body: Buffer): boolean {
  const [, credential, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=(\S+?), ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '') ?? []
  const [id, day = '', region = '', service = '', kind] = credential?.split('/') ?? []
  if (id !== sesKey.id || region !== 'eu-west-1' || service !== 'ses' || kind !== 'aws4_request' || !names) return false
  const signed = names.split(';')
  if (!signed.includes('host') || !signed.includes('x-amz-date')) return false
  const [path, query = ''] = url.split('?')
  const canonical = [
    method,
    path,
    query,
    ...signed.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    names,
    hash(body),
  ].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], `${day}/${region}/${service}/aws4_request`, hash(Buffer.from(canonical))]
  let key: string | Buffer = `AWS4${sesKey.secret}`
  for (const part of [day, region, service, 'aws4_request', toSign.join('\n')]) key = createHmac('sha256', key).update(part).digest()
  return key.toString('hex') === signature
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
