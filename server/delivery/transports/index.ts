import { createCaptureTransport, type StoreCapturedMessage } from './capture.ts'
import { createDirectTransport } from './direct.ts'
import { createSesTransport } from './ses.ts'
import { createSmtpTransport } from './smtp.ts'
import type { Transport } from './transport.ts'

export type { CapturedMessage } from './capture.ts'
export { relayPlaces } from './relay-url.ts'
export { type AboutMessage, bounceClassOf, type Envelope, type Outcome, type Transport } from './transport.ts'
export { watched } from './watched.ts'

export interface TransportDependencies {
  storeCapturedMessage: StoreCapturedMessage
  /** What we call ourselves to other servers; for `direct` it must be a name that leads back here. */
  mailDomain?: string
  dnsServers?: string[]
  /** Lets `direct` deliver to this machine and its network, for development. */
  isPrivateAllowed?: boolean
}

/** The transport that OUTBOUND names. Throws one line that names OUTBOUND, and never repeats a password in it. */
export function createTransport(outbound: string, dependencies: TransportDependencies): Transport {
  const { storeCapturedMessage, mailDomain, dnsServers = [], isPrivateAllowed = false } = dependencies
  if (outbound === 'capture') return createCaptureTransport(storeCapturedMessage)
  if (/^smtps?:/i.test(outbound)) return createSmtpTransport(outbound, {}, mailDomain)
  if (/^ses:/i.test(outbound)) return createSesTransport(outbound)
  if (/^direct(?:\?|$)/.test(outbound)) {
    if (mailDomain === undefined) throw new Error('OUTBOUND is direct, which needs MAIL_DOMAIN for the name we greet with')
    return createDirectTransport(outbound, { name: mailDomain, dnsServers, isPrivateAllowed })
  }
  throw new Error(
    'OUTBOUND must be capture, direct, smtp://user:password@host:port, smtps://user:password@host:port or ses://KEY:SECRET@REGION',
  )
}
