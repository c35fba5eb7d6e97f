import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Endpoints in a process of its own, on every address of loopback: what comes to /hang/… is never answered, everything else at once. It
 * notes how long after their event deliveries arrive.
 */
export interface WebhookSinkReport {
  received: number
  /** In ms, since the last report. */
  delays: number[]
}

let received = 0
let delays: number[] = []

const server = createServer((request, response) => {
  let text = ''
  request.setEncoding('utf8')
  request.on('data', (chunk: string) => {
    text += chunk
  })
  request.on('end', () => {
    if (request.url?.startsWith('/hang')) return
    received++
    const created = /"created_at":"([^"]+)"/.exec(text)?.[1]
    if (created && delays.length < 1_000_000) delays.push(Date.now() - Date.parse(created))
    response.writeHead(204).end()
  })
}).listen({ port: 0, host: '0.0.0.0', backlog: 4_096 })
server.requestTimeout = 0
server.keepAliveTimeout = 30_000
server.once('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', () => {
  process.send?.({ received, delays } satisfies WebhookSinkReport)
  delays = []
})
process.on('disconnect', () => process.exit())
