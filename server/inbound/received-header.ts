import { isIPv6 } from 'node:net'

/** RFC 5321 section 6.3 has servers count hops and suggests 100. No honest way is a third as long, and each round of a loop costs two servers. */
export const maxHops = 30

/** A header section that is longer than this is not looked through for hops. */
const headBytes = 256 * 1024

interface Transfer {
  id: string
  received_at: Date
  peer: { address: string; name: string }
  /** As in `with`: ESMTPS. */
  protocol: string
  by: string
  recipients: string[]
}

/** The trace line of RFC 5321 section 4.4. `for` is left out where it would tell one recipient about another. */
export function formatReceived({ id, received_at, peer, protocol, by, recipients }: Transfer): string {
  const from = peer.name.replace(/[^\w.:[\]-]/g, '?')
  const address = isIPv6(peer.address) ? `IPv6:${peer.address}` : peer.address
  const [only] = recipients
  const receiver = recipients.length === 1 ? `\r\n\tfor <${only}>` : ''
  const date = received_at.toUTCString().replace('GMT', '+0000')
  return `Received: from ${from} ([${address}])\r\n\tby ${by} with ${protocol} id ${id}${receiver};\r\n\t${date}\r\n`
}

/** How many servers the message says that it has passed. */
export function countHops(raw: Buffer): number {
  const end = raw.indexOf('\r\n\r\n')
  const head = raw.subarray(0, Math.min(end < 0 ? raw.length : end, headBytes)).toString('latin1')
  return head.match(/^received:/gim)?.length ?? 0
}
