import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import { until } from './until.ts'

export interface ReceivedCall {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** As it came. */
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of a body, the assertion says
  body: any
}

type Reply = (response: ServerResponse, call: ReceivedCall) => void

export interface WebhookPeer {
  /** http://127.0.0.1:…: for a program with ALLOW_PRIVATE_WEBHOOKS. */
  url: string
  received: ReceivedCall[]
  /** Answers whatever comes from now on; 204 unless said. */
  reply: Reply
  /** The first call of this type, once it is there. */
  call(type: string, wanted?: (call: ReceivedCall) => boolean): Promise<ReceivedCall>
}

/** An endpoint on loopback, for the tests of one file; ends with them. */
export async function startWebhookPeer(): Promise<WebhookPeer> {
  const received: ReceivedCall[] = []
  const peer: WebhookPeer = {
    url: '',
    received,
    reply: (response) => response.writeHead(204).end(),
    call: (type, wanted = () => true) =>
      until(`a call of ${type}`, () => received.find((call) => call.headers['x-service-event'] === type && wanted(call))),
  }
  const server = createServer(async (request, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const call = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) }
    received.push(call)
    peer.reply(response, call)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  peer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return peer
}
