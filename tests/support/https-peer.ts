import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { peerCertificate, peerKey } from './peer-certificate.ts'

type Answer = NonNullable<Parameters<typeof createServer>[1]>

export interface HttpsPeer {
  /** https://localhost:… */
  url: string
  /** The paths that were asked for. */
  asked: string[]
  stop(): void
}

/** A site at https://localhost:…, which this process trusts for as long as it stands. */
export async function startHttpsPeer(answer: Answer): Promise<HttpsPeer> {
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, peerCertificate])
  const asked: string[] = []
  const options: ServerOptions = { cert: peerCertificate, key: peerKey }
  const server = createServer(options, (request, response) => {
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
  return { url: `https://localhost:${port}`, asked, stop }
}
