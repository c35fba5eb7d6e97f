import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * An endpoint in a process of its own, so that nothing that is killed takes its memory along. It remembers how often each delivery came, and
 * under which event.
 */
export type WebhookSinkOrder = 'count' | 'report'
export interface WebhookSinkReport {
  /** For each delivery id: its event, its name, how often it came, and how often that was answered with a no. */
  received: [delivery_id: string, event_id: string, name: string, times: number, refused: number][]
}

interface Received {
  event_id: string
  name: string
  times: number
  refused: number
}
const received = new Map<string, Received>()
let total = 0

/** Some are answered late, some with a no: a kill finds calls in every state. */
function answer(response: ServerResponse, call: Received): void {
  const chance = Math.random()
  if (chance < 0.05) {
    call.refused++
    response.writeHead(503).end()
  } else setTimeout(() => response.writeHead(204).end(), chance < 0.2 ? 50 : 2)
}

const server = createServer(async (request, response) => {
  const event = JSON.parse(Buffer.concat(await request.toArray()).toString())
  const id = String(request.headers['x-service-delivery-id'])
  const known = received.get(id) ?? { event_id: event.id, name: String(event.data.name), times: 0, refused: 0 }
  known.times++
  total++
  received.set(id, known)
  answer(response, known)
}).listen(0, '127.0.0.1')
server.once('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', (order: WebhookSinkOrder) => {
  if (order === 'count') process.send?.({ total })
  else process.send?.({ received: [...received].map(([id, { event_id, name, times, refused }]) => [id, event_id, name, times, refused]) })
})
process.on('disconnect', () => process.exit())
