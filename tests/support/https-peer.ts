import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { peerCertificate, peerKey } from './peer-certificate.ts'

type Answer = NonNullable<Parameters<typeof createServer>[1]>

export interface HttpsPeer {
  /** https://localhost:…, or the name it was given. */
  url: string
  /** The paths that were asked for. */
  asked: string[]
  /** How many connections were made to it, with or without a request. */
  connections: number
  stop(): void
}

const localhost = { name: 'localhost', cert: peerCertificate, key: peerKey }

/** A site at https://localhost:…, or at a name that a DNS server of the test leads here, which this process trusts for as long as it stands. */
export async function startHttpsPeer(answer: Answer, { name, cert, key } = localhost): Promise<HttpsPeer> {
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, cert])
  const asked: string[] = []
  const server = createServer({ cert, key }, (request, response) => {
    asked.push(request.url ?? '')
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const stop = () => {
    setDefaultCACertificates(trusted)
    server.closeAllConnections()
    server.close()
  }
  const peer = { url: `https://${name}:${port}`, asked, connections: 0, stop }
  server.on('connection', () => peer.connections++)
  return peer
}
