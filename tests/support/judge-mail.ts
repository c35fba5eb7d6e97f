import { Resolver } from 'node:dns/promises'
import { authenticate } from 'mailauth'
import type { ReceivedMessage } from './smtp-peer.ts'

/** SPF, DKIM and DMARC as a receiver sees them who asks this name server: by a verifier that is not ours. */
export async function judgeMail({ message }: { message: ReceivedMessage }, dnsServer: string) {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 })
  resolver.setServers([dnsServer])
  const { spf, dkim, dmarc } = await authenticate(message.raw, {
    ip: '127.0.0.1',
    helo: 'posthaste.test',
    sender: message.from,
    resolver: ((name: string, type: string) => resolver.resolve(name, type)) as never,
  })
  return {
    spf: spf ? spf.status.result : null,
    dkim: dkim.results.map(({ status, signingDomain, algo }) => `${signingDomain} ${algo} ${status.result}`),
    dmarc: dmarc ? dmarc.status.result : null,
  }
}
